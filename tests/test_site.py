"""The site of the published results, and what of it is in the repository."""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from click.testing import CliRunner
from markupsafe import escape
from playwright.sync_api import Locator, Page, expect

from bench.records.store import read
from bench.report.overview import tables_of
from bench.report.picture import overview_svg
from bench.report.section import Section, sections_of
from conformance import records
from harness.paths import ROOT
from harness.servers.catalog import find_servers
from harness.servers.source import count_lines, source_files
from spec.behaviours import questions
from tests.browser import Browse
from upkeep import reference
from upkeep.cli import PICTURE, main
from upkeep.reference import REFERENCE, all_published
from upkeep.site import build

pytestmark = pytest.mark.timeout(300)

PHONE, DESKTOP = 360, 1200
WORKLOADS = sorted({path.name.removesuffix(".json.gz") for path in REFERENCE.glob("*/*.json.gz")})
PAGES = [
    *("index.html", "behaviours.html", "results/index.html"),
    *(f"results/{name}.html" for name in WORKLOADS),
    *(f"servers/{name}.html" for name in find_servers()),
]


@pytest.fixture(scope="module")
def sections() -> list[Section]:
    return sections_of(all_published())


@pytest.fixture(scope="module")
def site(sections: list[Section], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of these sections: to compute them again takes long."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(build, "sections_of", lambda _: sections)
        return build.write_site(tmp_path_factory.mktemp("site") / "site").parent


Show = Callable[..., Page]


@pytest.fixture
def show(browse: Browse, site: Path) -> Show:
    """Opens the start page."""

    def start(width: int = DESKTOP, **how: Any) -> Page:
        return browse(site / "index.html", width=width, **how).page

    return start


def row(page: Page, server: str) -> Locator:
    return page.locator(f"#compared tr[data-server='{server}'][data-default]")


def width(found: Locator, figure: str) -> float:
    bar = found.locator(f"[data-figure={figure}] .bar")
    return float(bar.evaluate("node => node.getBoundingClientRect().width"))


def risky(answers: Mapping[str, str]) -> dict[str, str]:
    """Those of recorded answers that are risky."""
    known = questions()
    return {id: one for id, one in answers.items() if known[id].answers[one].rating == "risky"}


@pytest.mark.quick
def test_the_checkout_is_small() -> None:
    assert sum(path.stat().st_size for path in source_files(ROOT)) < 8_000_000
    assert "/_site/" in (ROOT / ".gitignore").read_text().splitlines()


@pytest.mark.quick
def test_the_picture_shows_the_published_results(sections: list[Section]) -> None:
    """Its texts do; how wide they are depends on the machine's fonts."""
    drawn = overview_svg(tables_of(sections)[0])
    texts = [re.findall("<text.*?</text>", svg) for svg in (drawn, PICTURE.read_text())]
    labels = [sorted(re.sub("<.*?>", "", text) for text in some) for some in texts]
    assert len(labels[0]) > 50
    assert labels[0] == labels[1], "run `./just figures`"


@pytest.mark.quick
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mine"], "guide.md is not a page of an earlier one: give an empty folder"),
        (["mine/guide.md"], "guide.md: Not a directory"),
        (["new", "--code", "example.org"], "give an address that starts with https://"),
        (["new"], "there is no published result"),
    ],
)
def test_errors_are_clear(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference, "REFERENCE", tmp_path / "nothing")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "guide.md").write_text("mine")
    done = CliRunner().invoke(main, ["site", str(tmp_path / words[0]), *words[1:]])
    assert done.exit_code == 2
    assert message in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert (tmp_path / "mine" / "guide.md").read_text() == "mine"


def test_every_published_result_is_shown(site: Path, sections: list[Section]) -> None:
    published = {section.run.id: section.run for section in sections}
    shown = [read(path) for path in (site / "results" / "data").glob("*.json")]
    assert {run.id: run for run in shown} == published
    assert len(shown) == len(list(REFERENCE.glob("*/*.json.gz")))
    assert {str(path.relative_to(site)) for path in site.rglob("*.html")} == set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_without_a_network(browse: Browse, site: Path, name: str) -> None:
    """On a phone, and then on a desktop; only the table of behaviours may be wider than that."""
    opened = browse(site / name, width=PHONE, root=site)
    opened.draw_all()
    assert opened.page.evaluate("document.documentElement.scrollWidth") == PHONE
    opened.page.set_viewport_size({"width": DESKTOP, "height": 900})
    opened.draw_all()
    wide = opened.page.evaluate("document.documentElement.scrollWidth")
    assert wide == DESKTOP or name == "behaviours.html"


def test_every_link_leads_to_its_target(site: Path) -> None:
    """Those to the code lead out of the site, and have tests of their own."""
    anchors = {
        path: set(re.findall(r' id="([^"]+)"', path.read_text())) for path in site.rglob("*.html")
    }
    checked = 0
    for path in anchors:
        for link in re.findall(r'<a [^>]*?href="([^"]*)"', path.read_text()):
            url = urlsplit(link.replace("&amp;", "&"))
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            if url.scheme or not target.is_relative_to(site):
                assert url.scheme in ("", "https", "http"), link
                continue
            assert target.exists(), f"{path.name}: {link}"
            if url.fragment and "=" not in url.fragment:
                assert unquote(url.fragment) in anchors[target], f"{path.name}: {link}"
            checked += 1
    assert checked > 1000


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_the_comparison_is_seen_first(show: Show, size: int) -> None:
    page = show(size)
    first = page.locator("#compared tbody tr:visible").first
    expect(first.locator("[data-figure=lines]")).to_be_in_viewport()
    expect(page.get_by_role("combobox", name="Workload")).to_be_in_viewport()
    above = page.locator("body a").evaluate_all(
        "all => all.filter(a => a.compareDocumentPosition(document.getElementById('compared'))"
        " & Node.DOCUMENT_POSITION_FOLLOWING).length"
    )
    assert above < 5
    servers = page.locator("#compared tbody tr:visible").count()
    assert servers == len(find_servers())


def test_its_figures_are_those_of_the_results(show: Show, sections: list[Section]) -> None:
    page = show()
    for section in sections:
        page.get_by_role("combobox", name="Workload").select_option(section.name)
        cells = page.locator("#compared td[data-figure=cpu]").evaluate_all(
            "all => all.map(td => [td.parentNode.dataset.target, td.dataset.value, td.textContent])"
        )
        found = {target: (value, text) for target, value, text in cells}
        for target, of in section.first_rows.items():
            value, _ = found[target]
            assert (float(value) if value else None) == of.value("cpu"), section.name
        for target in section.run.servers.keys() - section.first_rows.keys():
            assert section.missing(target) in found[target][1]
        expect(page.locator("#caveats li")).to_have_count(len(section.caveats))
        expect(page.locator("#page")).to_have_attribute("href", re.compile(f"#{section.name}$"))


def test_a_column_is_sorted_from_the_best_on(show: Show, sections: list[Section]) -> None:
    page = show()
    by_order: dict[str, str] = {section.ranked.better: section.name for section in sections}
    assert len(by_order) == 2
    for better, order in (("less", "ascending"), ("more", "descending")):
        page.get_by_role("combobox", name="Workload").select_option(by_order[better])
        page.locator("#ranked").click()
        expect(page.locator("th[data-figure=ranked]")).to_have_attribute("aria-sort", order)


def test_it_counts_lines_and_risky_answers(show: Show) -> None:
    page = show()
    for name, server in find_servers().items():
        answers = records.read(server)[server.manifest.deployment[0].name].answers
        cell = row(page, name).locator("[data-figure=risky]")
        assert cell.get_attribute("data-value") == str(len(risky(answers)))
        expect(cell).to_contain_text(f"of {len(answers)}")
        lines = row(page, name).locator("[data-figure=lines]")
        expect(lines).to_have_text(re.compile(f"^{count_lines(server)}"))


def test_it_works_with_the_keyboard_only(show: Show) -> None:
    page = show()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the comparison")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    workload = page.get_by_role("combobox", name="Workload")
    expect(workload).to_be_focused()
    page.keyboard.type("Text")
    expect(workload).to_have_value("text")
    expect(row(page, "nginx").locator("[data-figure=ranked]")).to_have_attribute(
        "data-value", re.compile(r"\d")
    )
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.locator("tr[data-target='aiohttp/gunicorn']")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    box = page.get_by_role("checkbox", name="nginx")
    for _ in range(30):
        page.keyboard.press("Tab")
        if box.evaluate("node => node === document.activeElement"):
            break
    assert box.evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
    page.keyboard.press("Space")
    expect(row(page, "nginx")).to_be_hidden()
    expect(page.get_by_role("status")).to_have_text(
        f"{len(find_servers()) - 1} of {len(find_servers())}"
    )
    head = page.get_by_role("button", name="Lines of code")
    head.focus()
    page.keyboard.press("Enter")
    names = page.locator("#compared tbody tr:visible").evaluate_all(
        "all => all.map(one => Number(one.querySelector('[data-figure=lines]').dataset.value))"
    )
    assert names == sorted(names)
    page.reload()
    expect(workload).to_have_value("text")
    expect(row(page, "nginx")).to_be_hidden()
    expect(head.locator("..")).to_have_attribute("aria-sort", "ascending")


def test_the_baseline_does_not_squeeze_the_others(show: Show) -> None:
    """nginx serves several times as much as the fastest framework."""
    page = show()
    page.get_by_role("combobox", name="Workload").select_option("text")
    expect(row(page, "nginx").locator("[data-figure=ranked]")).to_have_class("beyond")
    cell = row(page, "fastify").locator("[data-figure=ranked]")
    before = width(row(page, "fastify"), "ranked")
    assert before > 0.5 * float(cell.evaluate("node => node.clientWidth"))
    page.get_by_text(re.compile(r"^Servers")).click()
    page.get_by_role("checkbox", name="nginx").uncheck()
    assert width(row(page, "fastify"), "ranked") == pytest.approx(before, rel=0.05)
    page.get_by_role("button", name="None").click()
    expect(page.get_by_text("No server is chosen.")).to_be_visible()
    page.get_by_role("checkbox", name="express").check()
    page.get_by_role("checkbox", name="django").check()
    expect(row(page, "django").locator(".groups")).to_be_visible()
    page.get_by_role("link", name="Compare the answers of these servers").click()
    assert page.url.endswith("behaviours.html#server=express&server=django") or page.url.endswith(
        "behaviours.html#server=django&server=express"
    )
    expect(page.locator("thead [data-server=express]").first).to_be_visible()
    expect(page.locator("thead [data-server=flask]").first).to_be_hidden()
    page.get_by_role("link", name="Start page").click()
    expect(page.locator("#compared")).to_be_visible()


@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)])
def test_it_is_accessible(show: Show, scheme: str, size: int) -> None:
    page = show(size, color_scheme=scheme)
    page.get_by_text(re.compile(r"^Servers")).click()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    row(page, "flask").get_by_role("link", name="flask").click()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_without_scripts_it_leads_on(show: Show) -> None:
    page = show(java_script_enabled=False)
    expect(page.locator("noscript p")).to_be_visible()
    page.get_by_role("link", name="aiohttp").first.click()
    expect(page.get_by_role("heading", name="aiohttp")).to_be_visible()


def test_each_server_has_a_page_with_what_to_do(site: Path) -> None:
    """Each risky answer stands there, below the advice of the server's README."""
    for name, server in find_servers().items():
        text = (site / "servers" / f"{name}.html").read_text()
        assert f"./just new {name} ../my-service" in text
        assert f"<dd>{count_lines(server)}, " in text
        risks = re.findall(r'<div class="risk">(.*?)</div>', text, re.DOTALL)
        for record in records.read(server).values():
            for id, answer in risky(record.answers).items():
                own = [one for one in risks if f"<code>{id}</code>" in one]
                assert any(f"<strong>{escape(answer)}</strong>" in one for one in own), (name, id)


def test_code_is_linked_where_it_is_published(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier site is replaced."""
    monkeypatch.setattr(reference, "REFERENCE", tmp_path / "some")
    one = next(REFERENCE.glob("*/text.json.gz"))
    place = tmp_path / "some" / "machine" / one.name
    place.parent.mkdir(parents=True)
    place.write_bytes(one.read_bytes())
    folder = shutil.copytree(site, tmp_path / "site")
    done = CliRunner().invoke(main, ["site", str(folder), "--code", "https://example.org/r"])
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == str(folder / "index.html")
    page = (folder / "servers" / "flask.html").read_text()
    assert 'href="https://example.org/r/tree/HEAD/python/flask"' in page
    text = (folder / "results" / "text.html").read_text()
    assert re.search(r'href="https://example.org/r/tree/[0-9a-f]+/python/flask"', text)
    data = re.search(r'id="data">(.*?)</script>', (folder / "index.html").read_text(), re.S)
    assert data
    assert list(json.loads(data[1])) == ["text"]
