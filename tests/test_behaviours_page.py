"""The page of behaviours, as a browser shows it."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Locator, Page, expect

from conformance.matrix.page import render
from conformance.matrix.rows import Row
from harness.servers.catalog import Server, Target
from harness.servers.manifest import Manifest
from spec.behaviours import Answer, Question, questions
from tests.browser import Browse, Opened

pytestmark = pytest.mark.timeout(900)

PHONE, DESKTOP = 360, 1400
SERVERS = {
    "nginx": ("nginx", ["nginx"]),
    "flask": ("python", ["gunicorn", "gevent"]),
    "tornado": ("python", ["tornado"]),
    "express": ("node", ["express", "cluster"]),
}
NASTY = "\"'><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


def targets_of(servers: dict[str, tuple[str, list[str]]]) -> list[Target]:
    targets = []
    for name, (language, deployments) in servers.items():
        given = {"title": name, "framework": name, "homepage": "https://example.org"}
        run = [{"name": one, "model": "threads", "run": ["serve"]} for one in deployments]
        manifest = Manifest.model_validate({**given, "language": language, "deployment": run})
        server = Server(name, Path(language) / name, manifest)
        targets += [Target(server, deployment) for deployment in manifest.deployment]
    return targets


EXPRESS = ("express/express", "express/cluster")
FLASK = ("flask/gunicorn", "flask/gevent")
ALL = ("nginx/nginx", *FLASK, "tornado/tornado", *EXPRESS)


# Recorded answers to six questions; the first four get different ones
GIVEN: dict[str, dict[str, Sequence[str]]] = {
    "trailing-slash": {"not found": ALL[::3], "redirected": FLASK, "served": EXPRESS},
    "zero-and-length": {"refused": (*ALL[:2], *ALL[3:]), "smuggled": FLASK[1:]},
    "keep-alive": {"kept": (*ALL[:2], *ALL[3:5]), "closed": (FLASK[1], EXPRESS[1])},
    "semicolon": {"served as the default": (*ALL[:3], *EXPRESS), "400": ALL[3:4]},
    "date": {"sent": ALL},
    "postgresql-hangs": {"none within 8 s": ALL[1:]},
}
ROWS = [
    Row(
        questions()[id],
        {name: answer for name in ALL for answer, names in given.items() if name in names},
    )
    for id, given in GIVEN.items()
]
QUESTIONS = [row.question.text.replace("`", "") for row in ROWS]
# Those that are shown at first: all but one with the same harmless answer from all
SHOWN = [text for text in QUESTIONS if "Date" not in text]
MIXED = ROWS[1].question.answers["smuggled"].why
BUSY = ROWS[5].question.answers["none within 8 s"].why


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("page") / "behaviours.html"
    page.write_text(render(targets_of(SERVERS), ROWS), encoding="utf-8")
    return page


@pytest.fixture
def show(browse: Browse, path: Path) -> Browse:
    """Opens pages as wide as a desktop, unless told otherwise."""

    def opened(page: Path = path, width: int = DESKTOP, **how: Any) -> Opened:
        return browse(page, width=width, **how)

    return opened


@pytest.fixture(params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def page(request: pytest.FixtureRequest, show: Browse) -> Page:
    return show(width=request.param).page


def shown(page: Page) -> list[str]:
    """The visible questions, in order."""
    return page.locator("tbody th:visible").all_inner_texts()


def choose(page: Page, group: str, name: str) -> None:
    if page.locator("#choices[open]").count() == 0:
        page.get_by_text("Servers, languages, groups, layers").click()
    page.get_by_role("group", name=group).get_by_role("checkbox", name=name, exact=True).check()


def show_the_same(page: Page) -> None:
    page.get_by_role("checkbox", name="Also the 1 with one harmless answer").check()


def words(found: Locator) -> list[str]:
    return [" ".join(text.split()) for text in found.all_inner_texts()]


def test_desktop_shows_a_column_for_each_deployment(show: Browse) -> None:
    page = show().page
    assert page.locator("thead th").all_inner_texts() == [
        *("Question", "nginx", "flask", "tornado", "express"),
        *("gunicorn", "gevent", "express", "cluster"),
    ]
    assert page.locator("h2:visible").all_inner_texts()[1:] == [
        "Different answers 4",
        "The same answer from all 1",
    ]

    def cells(question: str) -> Locator:
        return page.locator("tr", has=page.locator("th", has_text=question)).locator("td")

    slash = cells(QUESTIONS[0])
    answers = ["✓ good: not found", "– plain: redirected", "✓ good: not found", "– plain: served"]
    assert words(slash) == answers
    assert slash.evaluate_all("all => all.map(node => node.colSpan)") == [1, 2, 1, 2]
    assert words(cells(QUESTIONS[2]))[1:3] == ["✓ good: kept", "↓ slow: closed"]
    assert words(cells(QUESTIONS[5]))[0] == "not asked"


def test_phone_lists_the_servers_of_each_answer(show: Browse) -> None:
    page = show(width=PHONE).page
    show_the_same(page)
    assert page.locator("td[data-server]:visible").count() == 0

    def card(question: str) -> list[str]:
        return words(page.locator(".question", has_text=question).locator("li:visible"))

    assert card(QUESTIONS[2]) == [
        "✓ good: kept nginx flask (gunicorn) tornado express (express)",
        "↓ slow: closed flask (gevent) express (cluster)",
    ]
    assert card(QUESTIONS[1])[1] == f"⚠ risky: smuggled {MIXED} flask (gevent)"
    assert card(QUESTIONS[4]) == ["✓ good: sent all"]
    assert card(QUESTIONS[5])[0].endswith("flask tornado express")
    choose(page, "Server", "flask")
    assert card(QUESTIONS[0]) == ["– plain: redirected flask"]
    choose(page, "Language", "node")
    expect(page.get_by_role("status")).to_have_text("0 of 6 questions shown")


def test_many_and_long_names(show: Browse, tmp_path: Path) -> None:
    """Nothing is wider than a phone; on a large screen, heads stay in sight."""
    servers = {
        f"server-{at}": ("python", [f"a-deployment-with-a-long-name-{one}" for one in range(3)])
        for at in range(10)
    }
    long = "a" * 90
    names = [target.name for target in targets_of(servers)]
    question = Question(long, long, f"`{long}`", long, "server", {long: Answer("risky", long)})
    path = tmp_path / "page.html"
    rows = [Row(question, dict.fromkeys(names[:-1], long))] * 60
    path.write_text(render(targets_of(servers), rows))
    page = show(path, 320).page
    page.locator(".question summary").first.click()
    page.get_by_text("Servers, languages, groups, layers").click()
    for width in (320, PHONE, 768):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    page.set_viewport_size({"width": DESKTOP, "height": 900})
    page.evaluate("scrollTo(600, 2000)")
    assert page.evaluate("[scrollX, scrollY]") == [600, 2000]
    expect(page.locator("thead th", has_text="server-3")).to_be_in_viewport()
    expect(page.get_by_role("status")).to_be_in_viewport(ratio=1)
    left = "all => all.map(node => node.getBoundingClientRect().left)"
    assert set(page.locator("tbody th").evaluate_all(left)) == {0}


def test_risky_answers_are_in_plain_sight_and_counted_by_server(page: Page) -> None:
    for reason, answer in ((MIXED, "⚠ risky: smuggled"), (BUSY, "⚠ risky: none within 8 s")):
        said = page.locator("li", has_text=reason)
        expect(said.locator(".why")).to_be_visible()
        expect(said).to_contain_text(answer)
    assert words(page.get_by_role("navigation").get_by_role("listitem")) == [
        "nginx ✓ none risky nginx",
        "flask ⚠ 2 risky python: gunicorn 1, gevent 2; decided by server 1, driver 1",
        "tornado ⚠ 1 risky python; decided by driver 1",
        "express ⚠ 1 risky node; decided by driver 1",
    ]
    page.get_by_role("link", name="flask 2 risky").click()
    expect(page.get_by_role("status")).to_have_text("2 of 6 questions shown")
    assert shown(page) == [QUESTIONS[1], QUESTIONS[5]]
    assert page.url.endswith("#server=flask&rating=risky")
    expect(page.locator(".question").first).to_be_in_viewport()
    page.go_back()
    expect(page.get_by_role("status")).to_have_text("5 of 6 questions shown")


def test_filters(show: Browse) -> None:
    page = show().page
    clear = page.get_by_role("button", name="Clear filters")
    assert shown(page) == SHOWN
    show_the_same(page)
    assert shown(page) == QUESTIONS
    page.get_by_role("checkbox", name="risky answer").check()
    assert shown(page) == [QUESTIONS[1], QUESTIONS[5]]
    choose(page, "Decided by", "driver")
    assert shown(page) == [QUESTIONS[5]]
    clear.click()
    expect(clear).to_be_hidden()
    expect(page.get_by_role("searchbox")).to_be_focused()
    choose(page, "Group", "connection")
    choose(page, "Group", "routing")
    assert shown(page) == [QUESTIONS[0], QUESTIONS[2]]
    clear.click()
    for text, found in {
        "headers LENGTH": [QUESTIONS[1]],
        "rfc 9112": QUESTIONS[1:3],
        "pile up": [QUESTIONS[5]],
        "poisoned": [QUESTIONS[3]],
        "date": [QUESTIONS[4]],
        "  ": SHOWN,
        "no such words": [],
    }.items():
        page.get_by_role("searchbox").fill(text)
        assert shown(page) == found
    expect(page.get_by_text("No question matches these filters.")).to_be_visible()
    page.get_by_role("searchbox").press("Enter")
    expect(page.get_by_role("status")).to_have_text("0 of 6 questions shown")


def test_servers_and_languages_are_chosen(show: Browse) -> None:
    """Only the visible deployments count as differing or risky."""
    page = show().page
    columns = page.locator("thead [scope=col][data-server]:visible")
    choose(page, "Server", "tornado")
    choose(page, "Server", "nginx")
    assert columns.all_inner_texts() == ["nginx", "tornado"]
    choose(page, "Language", "python")
    assert columns.all_inner_texts() == ["tornado"]
    assert page.locator("thead:visible [scope=colgroup]:visible").count() == 0
    choose(page, "Language", "nginx")
    assert shown(page) == [QUESTIONS[3], QUESTIONS[5]]
    show_the_same(page)
    assert sorted(shown(page)) == sorted(QUESTIONS)
    page.get_by_role("checkbox", name="risky answer").check()
    assert shown(page) == [QUESTIONS[5]]
    assert page.locator("main li:visible .who").all_inner_texts() == ["tornado"]
    assert page.evaluate("document.documentElement.scrollWidth") == DESKTOP


def test_a_link_shows_the_same_view(show: Browse) -> None:
    page = show(width=PHONE).page
    fields = "form => [...form.elements].map(field => [field.name, field.value, field.checked])"
    url = page.url
    for group, name in (
        *(("Server", "flask"), ("Server", "express"), ("Language", "python")),
        *(("Group", "smuggling"), ("Decided by", "server")),
    ):
        choose(page, group, name)
    show_the_same(page)
    page.get_by_role("searchbox").fill("content-length & body?")
    page.get_by_role("searchbox").fill("content-length body")
    page.get_by_role("searchbox").blur()
    link, before = page.url, page.locator("form").evaluate(fields)
    assert shown(page) == [QUESTIONS[1]]
    page.get_by_role("button", name="Clear filters").click()
    assert (shown(page), page.url) == (SHOWN, f"{url}#")
    page.goto("about:blank")
    page.goto(link)
    assert (shown(page), page.locator("form").evaluate(fields)) == ([QUESTIONS[1]], before)
    page.goto("about:blank")
    page.goto(f"{url}#server=nobody&group=&rating=x&__proto__=1&%=%zz&search=date")
    expect(page.get_by_role("status")).to_have_text("1 of 6 questions shown")
    page.get_by_role("link", name="Filters").click()
    expect(page.locator("form")).to_be_in_viewport()
    assert page.url == f"{url}#search=date"


def test_sources_are_linked() -> None:
    source = "RFC 9112, sections 6.1 and 6.3; CWE-444; RFC 9110 section 8.3"
    question = replace(ROWS[1].question, source=source)
    rfc = '<a href="https://www.rfc-editor.org/rfc/rfc'
    assert (
        f'<b>MUST</b> in {rfc}9112#section-6.1">RFC 9112, sections 6.1</a> and '
        f'{rfc}9112#section-6.3">6.3</a>; CWE-444; {rfc}9110#section-8.3">RFC 9110 section 8.3</a>'
    ) in render(targets_of(SERVERS), [Row(question, ROWS[1].answers)])


def test_the_page_works_with_the_keyboard_only(page: Page) -> None:
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the questions")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    reason = page.locator(".question").first.get_by_text(
        "One resource has two addresses, and caches keep it twice."
    )
    expect(reason).to_be_hidden()
    for expected in ("Filters", "RFC 3986, section 6.2.4", "3 possible answers, with reasons"):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        expect(focused).to_have_text(expected)
        assert focused.evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
        expect(focused).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    expect(reason).to_be_visible()


def test_it_is_accessible(show: Browse) -> None:
    """By axe's rules, among them contrast; and no rating is shown by its colour alone."""
    page = show().page
    page.locator(".question summary").nth(1).click()
    for width, dark in product((DESKTOP, PHONE), (False, True)):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme="dark" if dark else "light")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
    for rating, sign in {"good": "✓", "plain": "–", "slow": "↓", "risky": "⚠"}.items():
        for text in page.locator(f"table .{rating}").all_text_contents():
            assert text.strip().startswith(sign)
            assert f"{rating}:" in text
    page.add_style_tag(content=".risky { color: color-mix(in srgb, canvas 60%, red) }")
    assert "color-contrast" in Axe().run(page).generate_snapshot()


def test_paper_gets_cards(show: Browse) -> None:
    page = show().page
    page.emulate_media(media="print", color_scheme="dark")
    expect(page.locator("form")).to_be_hidden()
    assert page.locator("td[data-server]:visible").count() == 0
    ground = page.locator("html").evaluate("node => getComputedStyle(node).backgroundColor")
    assert ground == "rgb(255, 255, 255)"


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_without_scripts_everything_is_there(show: Browse, width: int) -> None:
    page = show(width=width, java_script_enabled=False).page
    assert shown(page) == QUESTIONS
    expect(page.locator("noscript p")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("6 of 6 questions shown")
    expect(page.get_by_role("search")).to_be_hidden()
    page.locator(".question summary").first.click()
    expect(page.get_by_text("Another path is another resource.")).to_be_visible()


def test_deployments_in_any_order_and_without_a_record() -> None:
    targets = targets_of(SERVERS)
    text = render(targets[::-1], ROWS[:5])
    assert text.count('<th scope="colgroup"') == 2
    assert "all</span>" in text
    assert "There are no records for" not in text
    text = render(targets, [Row(ROWS[0].question, {FLASK[0]: "served"})])
    assert "There are no records for nginx/nginx, flask/gevent, tornado/tornado" in text


def test_nothing_of_a_record_is_run(show: Browse, tmp_path: Path) -> None:
    name = NASTY.replace("/", "")
    targets = targets_of({name: ("python", ["one", "two"]), "{{ 1 }}": ("node", ["one"])})
    names = [target.name for target in targets]
    nasty = [NASTY, f"`{NASTY}`", f"RFC 1, section 1{NASTY}", "javascript:window.hacked = 1"]
    rows = []
    for text in nasty:
        given = [text, NASTY, "</td></table>"]
        answers = {one: Answer("risky", text) for one in given}
        question = Question(text, text, text, text, "server", answers)
        rows.append(Row(question, dict(zip(names, given, strict=True))))
    path = tmp_path / "page.html"
    path.write_text(render(targets, rows), encoding="utf-8")
    opened = show(path)
    page = opened.page
    assert len(shown(page)) == len(nasty)
    choose(page, "Server", name)
    choose(page, "Group", NASTY)
    page.reload()
    assert shown(page) == [NASTY]
    page.goto(f"{opened.url}#search={NASTY}")
    page.get_by_role("navigation").get_by_role("link").first.click()
    expect(page.get_by_role("status")).to_have_text("4 of 4 questions shown")
    assert page.evaluate("window.hacked") is None
    expect(page.locator("img, a[href^=javascript], main script")).to_have_count(0)


def test_a_script_of_others_is_not_run(chromium: Browser, path: Path, tmp_path: Path) -> None:
    """The Content-Security-Policy holds even if something is not escaped."""
    changed = tmp_path / "page.html"
    changed.write_text(path.read_text().replace("<main", f"{NASTY}<main"))
    opened = Opened(chromium, changed)
    assert opened.page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in error for error in opened.wrong)
    opened.context.close()
