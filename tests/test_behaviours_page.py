"""The page of behaviours, as a browser shows it."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from conformance.matrix.page import render
from conformance.matrix.rows import Row
from harness.servers.catalog import Server, Target
from harness.servers.manifest import Manifest
from spec.behaviours import Answer, Layer, Question, Rating, Requirement
from tests.browser import Opened

pytestmark = pytest.mark.timeout(900)

PHONE = 360
DESKTOP = 1400
SERVERS = {
    "nginx": ("nginx", ["nginx"]),
    "flask": ("python", ["gunicorn", "gevent"]),
    "tornado": ("python", ["tornado"]),
    "express": ("node", ["express", "cluster"]),
}
MIXED = "A proxy in front and this server see different requests: anybody's answer goes to anybody."
SLASH, LENGTHS, PIPELINE, SEMICOLON, DATE, CROWD = (
    "What does `/index/` get, a path that differs from an endpoint's by a slash?",
    "What does a request get whose `Content-Length` and chunks contradict each other?",
    "How are five requests in one segment answered?",
    "Does `;` separate parameters, as in `x=1;ms=5`?",
    "Does a response have a `Date`?",
    "What do ten times as many requests get as the pool has connections?",
)
NASTY = "\"'><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


def targets_of(servers: dict[str, tuple[str, list[str]]]) -> list[Target]:
    targets = []
    for name, (language, deployments) in servers.items():
        manifest = Manifest.model_validate(
            {
                "title": name.title(),
                "language": language,
                "framework": name,
                "homepage": "https://example.org",
                "deployment": [
                    {"name": one, "model": "threads", "run": ["serve"]} for one in deployments
                ],
            }
        )
        server = Server(name, Path(language) / name, manifest)
        targets += [Target(server, deployment) for deployment in manifest.deployment]
    return targets


def row(
    id: str,
    text: str,
    source: str,
    listed: dict[str, tuple[Rating, str]],
    given: dict[str, Sequence[str]],
    layer: Layer = "server",
    requirement: Requirement | None = None,
) -> Row:
    """A question ``GROUP.ID``, its answers, and the deployments that give each."""
    group, _, id = id.partition(".")
    answers = {answer: Answer(*rated) for answer, rated in listed.items()}
    by_deployment = {name: answer for answer, names in given.items() for name in names}
    order = [target.name for target in targets_of(SERVERS)]
    return Row(
        Question(id, group, text, source, layer, answers, requirement),
        {name: by_deployment[name] for name in order if name in by_deployment},
    )


EXPRESS = ("express/express", "express/cluster")
FLASK = ("flask/gunicorn", "flask/gevent")
ALL = ("nginx/nginx", *FLASK, "tornado/tornado", *EXPRESS)
ROWS = [
    row(
        "routing.trailing-slash",
        SLASH,
        "RFC 3986, section 6.2.4",
        {
            "not found": ("good", "Another path is another resource."),
            "redirected": ("plain", "A client is sent to `/index`."),
            "served": ("plain", "One resource has two addresses."),
        },
        {
            "not found": ("nginx/nginx", "tornado/tornado"),
            "redirected": FLASK,
            "served": EXPRESS,
        },
    ),
    row(
        "smuggling.contradicting-lengths",
        LENGTHS,
        "RFC 9112, sections 6.1 and 6.3; CWE-444",
        {"refused": ("good", "Nobody can read it in two ways."), "smuggled": ("risky", MIXED)},
        {"refused": [name for name in ALL if name != "flask/gevent"], "smuggled": FLASK[1:]},
        requirement="must",
    ),
    row(
        "connection.pipeline",
        PIPELINE,
        "RFC 9112 section 9.3.2",
        {"in order": ("good", "As it is meant."), "closed": ("slow", "A client asks again.")},
        {"in order": (*ALL[:2], *ALL[3:5]), "closed": ("flask/gevent", "express/cluster")},
    ),
    row(
        "parameters.semicolon",
        SEMICOLON,
        "WHATWG URL Standard, section 5.1; CVE-2021-23336",
        {"no": ("good", "Only `&` separates.")},
        {"no": [name for name in ALL if name != "tornado/tornado"], "teapot": ALL[3:4]},
        layer="framework",
    ),
    row(
        "connection.date",
        DATE,
        "RFC 9110, section 6.6.1",
        {"sent": ("good", "Caches can tell its age."), "none": ("plain", "They cannot.")},
        {"sent": ALL},
    ),
    row(
        "databases.crowd",
        CROWD,
        "openapi.yaml, /agents",
        {
            "all served": ("good", "They wait for each other."),
            "some fail": ("risky", "A busy minute looks like a defect."),
        },
        {"some fail": ALL[1:]},
        layer="driver",
    ),
]
QUESTIONS = [text.replace("`", "") for text in (SLASH, LENGTHS, PIPELINE, SEMICOLON, DATE, CROWD)]
SHOWN = [text for text in QUESTIONS if "Date" not in text]
"""Those that are shown at first: all but one with the same harmless answer from all."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("page") / "behaviours.html"
    page.write_text(render(targets_of(SERVERS), ROWS), encoding="utf-8")
    return page


@pytest.fixture(params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def opened(request: pytest.FixtureRequest, chromium: Browser, path: Path) -> Iterator[Opened]:
    """At both widths there are no errors, and no requests but for the page itself."""
    opened = Opened(chromium, path, width=request.param)
    yield opened
    opened.context.close()
    assert opened.wrong == []
    assert set(opened.asked) == {opened.url}


@pytest.fixture
def desktop(chromium: Browser, path: Path) -> Iterator[Page]:
    opened = Opened(chromium, path, width=DESKTOP)
    yield opened.page
    opened.context.close()
    assert opened.wrong == []


@pytest.fixture
def phone(chromium: Browser, path: Path) -> Iterator[Page]:
    opened = Opened(chromium, path, width=PHONE)
    yield opened.page
    opened.context.close()
    assert opened.wrong == []


def shown(page: Page) -> list[str]:
    """The visible questions, in order."""
    return page.locator("tbody th:visible").all_inner_texts()


def columns(page: Page) -> list[str]:
    """The visible deployments, and servers whose only deployment has their name."""
    return page.locator("thead [scope=col][data-server]:visible").all_inner_texts()


def choose(page: Page, group: str, name: str) -> None:
    if page.locator("#choices[open]").count() == 0:
        page.get_by_text("Servers, languages, groups, layers").click()
    page.get_by_role("group", name=group).get_by_role("checkbox", name=name, exact=True).check()


def show_the_same(page: Page) -> None:
    page.get_by_role("checkbox", name="Also the 1 with one harmless answer").check()


def test_desktop_shows_a_column_for_each_deployment(desktop: Page) -> None:
    heads = desktop.locator("thead th")
    assert heads.all_inner_texts() == [
        *("Question", "nginx", "flask", "tornado", "express"),
        *("gunicorn", "gevent", "express", "cluster"),
    ]
    assert shown(desktop) == SHOWN
    assert desktop.locator("h2:visible").all_inner_texts()[1:] == [
        "Different answers 4",
        "The same answer from all 1",
    ]

    def cells(question: str) -> list[tuple[str, int]]:
        row = desktop.locator("tr", has=desktop.locator("th", has_text=question))
        return [
            (" ".join(cell.inner_text().split()), int(cell.evaluate("node => node.colSpan")))
            for cell in row.locator("td").all()
        ]

    assert cells("slash") == [
        ("✓ good: not found", 1),
        ("– plain: redirected", 2),
        ("✓ good: not found", 1),
        ("– plain: served", 2),
    ]
    assert cells("one segment")[1:3] == [("✓ good: in order", 1), ("↓ slow: closed", 1)]
    assert cells("separate")[2] == ("? unlisted: teapot", 1)
    assert cells("pool")[0] == ("not asked", 1)


def test_phone_lists_the_servers_of_each_answer(phone: Page) -> None:
    assert shown(phone) == SHOWN
    show_the_same(phone)
    assert phone.locator("td[data-server]:visible").count() == 0

    def card(question: str) -> list[str]:
        items = phone.locator(".question", has_text=question).locator("li:visible")
        return [" ".join(text.split()) for text in items.all_inner_texts()]

    assert card("How are five requests") == [
        "✓ good: in order nginx flask (gunicorn) tornado express (express)",
        "↓ slow: closed flask (gevent) express (cluster)",
    ]
    assert card("contradict")[1] == f"⚠ risky: smuggled {MIXED} flask (gevent)"
    assert card("have a Date") == ["✓ good: sent all"]
    assert card("pool")[0].endswith("flask tornado express")


def test_nothing_is_wider_than_a_phone(chromium: Browser, tmp_path: Path) -> None:
    servers = {
        f"server-{at}": ("python", [f"a-deployment-with-a-long-name-{one}" for one in range(3)])
        for at in range(10)
    }
    long = "a" * 90
    names = [target.name for target in targets_of(servers)]
    question = Question(long, long, f"`{long}`", long, "server", {long: Answer("risky", long)})
    path = tmp_path / "page.html"
    path.write_text(render(targets_of(servers), [Row(question, dict.fromkeys(names[:-1], long))]))
    for width in (320, PHONE, 768):
        page = Opened(chromium, path, width=width).page
        page.locator(".question summary").click()
        page.get_by_text("Servers, languages, groups, layers").click()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        page.context.close()


def test_heads_stay_in_sight(chromium: Browser, tmp_path: Path) -> None:
    servers = {f"server-{at}": ("python", ["one", "two", "three"]) for at in range(10)}
    names = [target.name for target in targets_of(servers)]
    rows = [
        Row(
            Question(
                f"q{at}", "files", f"Question {at}?", "", "server", {"yes": Answer("slow", "")}
            ),
            dict.fromkeys(names, "yes"),
        )
        for at in range(60)
    ]
    path = tmp_path / "page.html"
    path.write_text(render(targets_of(servers), rows))
    opened = Opened(chromium, path, width=DESKTOP)
    page = opened.page
    page.evaluate("scrollTo(600, 2000)")
    assert page.evaluate("[scrollX, scrollY]") == [600, 2000]
    expect(page.locator("thead th", has_text="server-3")).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("status")).to_be_in_viewport(ratio=1)
    left = page.locator("tbody th").evaluate_all(
        "all => all.map(node => node.getBoundingClientRect().left)"
    )
    assert set(left) == {0}
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    assert page.locator("header p").evaluate("node => node.getBoundingClientRect().left") >= 0
    opened.context.close()


def test_risky_answers_are_in_plain_sight(opened: Opened) -> None:
    page = opened.page
    for reason in (MIXED, "A busy minute looks like a defect."):
        said = page.locator("li .why", has_text=reason)
        expect(said).to_have_count(1)
        expect(said).to_be_visible()
    expect(page.locator("li", has_text=MIXED)).to_contain_text("⚠ risky: smuggled")
    expect(page.locator("li", has_text=MIXED)).to_contain_text("flask (gevent)")


def test_risky_answers_are_counted_by_server(opened: Opened) -> None:
    page = opened.page
    servers = page.get_by_role("navigation").get_by_role("listitem")
    assert [" ".join(text.split()) for text in servers.all_inner_texts()] == [
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


def test_filters(opened: Opened) -> None:
    page = opened.page
    status = page.get_by_role("status")
    expect(status).to_have_text("5 of 6 questions shown")
    assert shown(page) == SHOWN
    show_the_same(page)
    assert shown(page) == QUESTIONS
    page.get_by_role("checkbox", name="risky answer").check()
    assert shown(page) == [QUESTIONS[1], QUESTIONS[5]]
    expect(status).to_have_text("2 of 6 questions shown")
    choose(page, "Decided by", "driver")
    assert shown(page) == [QUESTIONS[5]]
    page.get_by_role("button", name="Clear filters").click()
    expect(page.get_by_role("button", name="Clear filters")).to_be_hidden()
    expect(page.get_by_role("searchbox")).to_be_focused()

    choose(page, "Group", "connection")
    assert shown(page) == [QUESTIONS[2]]
    choose(page, "Group", "routing")
    assert shown(page) == [QUESTIONS[0], QUESTIONS[2]]
    page.get_by_role("button", name="Clear filters").click()

    for words, found in (
        ("segment FIVE", [QUESTIONS[2]]),
        ("rfc 9112", QUESTIONS[1:3]),
        ("anybody", [QUESTIONS[1]]),
        ("teapot", [QUESTIONS[3]]),
        ("no such words", []),
        ("date", [QUESTIONS[4]]),
        ("  ", SHOWN),
    ):
        page.get_by_role("searchbox").fill(words)
        assert shown(page) == found
    page.get_by_role("searchbox").fill("no such words")
    expect(page.get_by_text("No question matches these filters.")).to_be_visible()
    page.get_by_role("searchbox").press("Enter")
    expect(status).to_have_text("0 of 6 questions shown")


def test_servers_and_languages_are_chosen(desktop: Page) -> None:
    choose(desktop, "Server", "tornado")
    choose(desktop, "Server", "nginx")
    assert columns(desktop) == ["nginx", "tornado"]
    choose(desktop, "Language", "python")
    assert columns(desktop) == ["tornado"]
    assert desktop.locator("thead:visible [scope=colgroup]:visible").count() == 0
    choose(desktop, "Language", "nginx")
    # Only the visible deployments count as differing or risky.
    assert shown(desktop) == [QUESTIONS[3], QUESTIONS[5]]
    show_the_same(desktop)
    assert shown(desktop)[0] == QUESTIONS[3]
    assert sorted(shown(desktop)) == sorted(QUESTIONS)
    desktop.get_by_role("checkbox", name="risky answer").check()
    assert shown(desktop) == [QUESTIONS[5]]
    assert desktop.locator("main li:visible .who").all_inner_texts() == ["tornado"]
    width = desktop.evaluate("document.documentElement.scrollWidth")
    assert width == DESKTOP


def test_cards_show_the_chosen_servers(phone: Page) -> None:
    choose(phone, "Server", "flask")
    show_the_same(phone)
    card = phone.locator(".question", has_text="slash").first
    expect(card.locator("li:visible")).to_have_count(1)
    expect(card.locator("li:visible")).to_contain_text("redirected")
    choose(phone, "Server", "nginx")
    expect(card.locator("li:visible")).to_have_count(2)
    assert card.locator(".who > :visible").all_inner_texts() == ["nginx", "flask"]
    choose(phone, "Language", "node")
    expect(phone.get_by_role("status")).to_have_text("0 of 6 questions shown")


def test_a_link_shows_the_same_view(opened: Opened) -> None:
    page = opened.page
    choose(page, "Server", "flask")
    choose(page, "Server", "express")
    choose(page, "Language", "python")
    choose(page, "Group", "smuggling")
    show_the_same(page)
    choose(page, "Decided by", "server")
    page.get_by_role("checkbox", name="risky answer").check()
    page.get_by_role("searchbox").fill("content-length & chunks?")
    page.get_by_role("searchbox").fill("content-length chunks")
    page.get_by_role("searchbox").blur()
    link = page.url
    before = (shown(page), columns(page), page.locator("form").evaluate(_FIELDS))
    assert before[0] == [QUESTIONS[1]]
    page.get_by_role("button", name="Clear filters").click()
    assert (shown(page), page.url) == (SHOWN, f"{opened.url}#")
    for _ in range(2):
        page.goto(link)
        assert (shown(page), columns(page), page.locator("form").evaluate(_FIELDS)) == before
        expect(page.locator("#choices")).to_have_attribute("open", "")
        page.goto("about:blank")


_FIELDS = "form => [...form.elements].map(field => [field.name, field.value, field.checked])"


def test_a_fragment_may_be_anything(opened: Opened) -> None:
    page = opened.page
    page.goto(f"{opened.url}#server=nobody&group=&rating=x&__proto__=1&%=%zz&search=date")
    expect(page.get_by_role("status")).to_have_text("1 of 6 questions shown")
    page.get_by_role("link", name="Filters").click()
    expect(page.locator("form")).to_be_in_viewport()
    expect(page.get_by_role("status")).to_have_text("1 of 6 questions shown")
    assert page.url == f"{opened.url}#search=date"


def test_sources_are_linked(opened: Opened) -> None:
    page = opened.page
    rfc = "https://www.rfc-editor.org/rfc/rfc"
    links = page.locator(".source a").evaluate_all("all => all.map(one => [one.text, one.href])")
    assert links == [
        ["RFC 3986, section 6.2.4", f"{rfc}3986#section-6.2.4"],
        ["RFC 9112, sections 6.1", f"{rfc}9112#section-6.1"],
        ["6.3", f"{rfc}9112#section-6.3"],
        ["RFC 9112 section 9.3.2", f"{rfc}9112#section-9.3.2"],
        ["RFC 9110, section 6.6.1", f"{rfc}9110#section-6.6.1"],
    ]
    assert page.locator(".source").all_text_contents()[1:4:2] == [
        "MUST in RFC 9112, sections 6.1 and 6.3; CWE-444",
        "WHATWG URL Standard, section 5.1; CVE-2021-23336",
    ]


def test_the_page_works_with_the_keyboard_only(opened: Opened) -> None:
    page = opened.page
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the questions")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    card = page.locator(".question").first
    reason = card.get_by_text("One resource has two addresses.")
    expect(reason).to_be_hidden()
    for expected in ("Filters", "RFC 3986, section 6.2.4", "3 possible answers, with reasons"):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        expect(focused).to_have_text(expected)
        assert focused.evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
        expect(focused).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    expect(reason).to_be_visible()
    answers = card.locator("dt").all_inner_texts()
    assert [" ".join(text.split()) for text in answers] == [
        "✓ good: not found",
        "– plain: redirected",
        "– plain: served",
    ]


def test_it_can_be_read_aloud(opened: Opened) -> None:
    page = opened.page
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.title()
    for landmark in ("banner", "navigation", "search", "main"):
        expect(page.get_by_role(landmark)).to_have_count(1)
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    for field in page.locator("input, select").all():
        assert field.evaluate("node => node.labels.length") == 1
    for fieldset in page.locator("fieldset").all():
        assert fieldset.locator("legend").text_content()
    for named in page.locator("a, button, summary").all():
        assert (named.text_content() or "").strip()
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator("table > caption").text_content()
    assert page.evaluate(
        """() => {
          const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
          const named = [...document.querySelectorAll("[aria-labelledby]")];
          return ids.length === new Set(ids).size &&
            named.every((node) => document.getElementById(node.getAttribute("aria-labelledby")));
        }"""
    )
    # Each cell is below its own heading: rows have as many columns as there are headings.
    widths = page.locator("tr:has(> :is([scope=row], .wide))").evaluate_all(
        "rows => rows.map(row => [...row.cells].reduce((sum, cell) => sum + cell.colSpan, 0))"
    )
    assert set(widths) == {1 + len(ALL)}
    assert page.locator("thead [scope=col]").count() == 1 + len(ALL)
    # No rating is shown by its colour alone.
    for rating, sign in (("good", "✓"), ("plain", "–"), ("slow", "↓"), ("risky", "⚠")):
        for text in page.locator(f"table .{rating}").all_text_contents():
            assert text.strip().startswith(sign)
            assert f"{rating}:" in text


def test_a_screen_reader_gets_the_rating_of_a_cell(desktop: Page) -> None:
    row = desktop.locator("tr", has=desktop.get_by_text("contradict")).aria_snapshot()
    assert "risky: smuggled" in row
    assert "good: refused" in row


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_contrast(chromium: Browser, path: Path, scheme: str, width: int) -> None:
    opened = Opened(chromium, path, width=width, scheme=scheme)
    page = opened.page
    page.locator(".question summary").nth(1).click()
    page.locator(".skip").focus()
    found = page.evaluate(_COLORS)
    assert {"good", "risky", "unlisted", "who"} <= {name for name, *_ in found}
    grounds = {ground for _, _, ground in found}
    assert len(grounds) >= 3
    assert (min(map(_luminance, grounds)) > 0.5) == (scheme == "light")
    too_faint = [one for one in found if _contrast(one[1], one[2]) < 4.5]
    assert too_faint == []
    opened.context.close()


_COLORS = """() => {
  const found = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility()) continue;
    let under = node;
    const opaque = (one) => getComputedStyle(one).backgroundColor !== "rgba(0, 0, 0, 0)";
    while (under && !opaque(under)) under = under.parentElement;
    const name = node.closest("[class]")?.className ?? node.localName;
    const rated = node.closest(".good, .plain, .risky, .unlisted");
    const colors = [getComputedStyle(node).color, getComputedStyle(under).backgroundColor];
    for (const one of [name.split(" ")[0], rated?.className.split(" ")[0] ?? name]) {
      found.set([one, ...colors].join(), [one, ...colors]);
    }
  }
  return [...found.values()];
}"""


def _luminance(color: str) -> float:
    """As WCAG 2.2 defines it."""
    assert color.startswith("rgb("), color
    parts = [int(part) / 255 for part in re.findall(r"\d+", color)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_nothing_moves_and_paper_gets_cards(desktop: Page) -> None:
    assert desktop.locator("*").evaluate_all(
        """all => all.every((node) => {
          const style = getComputedStyle(node);
          return style.transitionDuration === "0s" && style.animationName === "none" &&
            style.scrollBehavior === "auto";
        })"""
    )
    desktop.emulate_media(media="print", color_scheme="dark")
    expect(desktop.locator("form")).to_be_hidden()
    assert desktop.locator("td[data-server]:visible").count() == 0
    expect(desktop.locator("li", has_text=MIXED)).to_be_visible()
    ground = desktop.locator("html").evaluate("node => getComputedStyle(node).backgroundColor")
    assert ground == "rgb(255, 255, 255)"


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_without_scripts_everything_is_there(chromium: Browser, path: Path, width: int) -> None:
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, java_script_enabled=False, offline=True
    )
    page = context.new_page()
    page.goto(path.as_uri())
    assert shown(page) == QUESTIONS
    expect(page.locator("noscript p")).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("6 of 6 questions shown")
    expect(page.get_by_role("search")).to_be_hidden()
    expect(page.locator("li", has_text=MIXED)).to_be_visible()
    page.locator(".question summary").first.click()
    expect(page.get_by_text("Another path is another resource.")).to_be_visible()
    context.close()


def test_deployments_in_any_order_and_without_a_record() -> None:
    targets = targets_of(SERVERS)
    page = render([*reversed(targets), *targets], ROWS[:5])
    assert page.count('<th scope="colgroup"') == 2
    assert "all</span>" in page
    assert "There are no records for" not in page
    asked_of_flask = Row(ROWS[0].question, {FLASK[0]: "served"})
    page = render(targets, [asked_of_flask])
    assert "There are no records for nginx/nginx, flask/gevent, tornado/tornado" in page


def test_nothing_of_a_record_is_run(chromium: Browser, tmp_path: Path) -> None:
    name = NASTY.replace("/", "")
    targets = targets_of({name: ("python", ["one", "two"]), "{{ 1 }}": ("node", ["one"])})
    nasty = [NASTY, f"`{NASTY}`", f"RFC 1, section 1{NASTY}", "javascript:window.hacked = 1"]
    rows = [
        Row(
            Question(text, text, text, text, "server", {text: Answer("risky", text)}),
            {targets[0].name: text, targets[1].name: NASTY, targets[2].name: "</td></table>"},
        )
        for text in nasty
    ]
    path = tmp_path / "page.html"
    path.write_text(render(targets, rows), encoding="utf-8")
    for width in (DESKTOP, PHONE):
        opened = Opened(chromium, path, width=width)
        page = opened.page
        assert len(shown(page)) == len(nasty)
        assert NASTY in shown(page)
        choose(page, "Server", name)
        page.get_by_role("checkbox", name="risky answer").check()
        choose(page, "Group", NASTY)
        assert shown(page) == [NASTY]
        page.reload()
        assert shown(page) == [NASTY]
        page.goto(f"{opened.url}#search={NASTY}")
        page.get_by_role("navigation").get_by_role("link").first.click()
        expect(page.get_by_role("status")).to_have_text("4 of 4 questions shown")
        assert page.evaluate("window.hacked") is None
        expect(page.locator("img, a[href^=javascript], main script")).to_have_count(0)
        assert opened.wrong == []
        assert {url.partition("#")[0] for url in opened.asked} == {opened.url}
        opened.context.close()


def test_a_script_of_others_is_not_run(chromium: Browser, path: Path, tmp_path: Path) -> None:
    """The Content-Security-Policy holds even if something is not escaped."""
    page = path.read_text().replace("<main", f"{NASTY}<main")
    changed = tmp_path / "page.html"
    changed.write_text(page)
    opened = Opened(chromium, changed)
    assert opened.page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in error for error in opened.wrong)
    expect(opened.page.get_by_role("status")).to_have_text("5 of 6 questions shown")
    opened.context.close()
