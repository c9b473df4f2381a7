"""The report's pages in a browser."""

import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, expect

from bench.records.warning import Warning
from bench.report.code import Code
from bench.report.folder import write_report, write_results
from bench.report.overview import tables_of
from bench.report.picture import overview_svg
from bench.report.section import sections_of
from tests.browser import Browse, Opened
from tests.runs import MACHINE, SERVERS, a_failure, a_run, short

pytestmark = pytest.mark.timeout(900)

BY_RATE = ["express/express", "tornado/tornado", "flask/gevent", "flask/gunicorn"]
NASTY = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
BIG = MACHINE.model_copy(update={"cores": 16, "cpu": "another CPU"})


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a run of two cases, which has no column in the overview, and of one that has; of short
    ones of other loads, and one of another machine."""
    runs = [
        a_run(),
        a_run("plain", cases=("1 worker",)),
        short("json", repeats=1, complete=False),
        short("search", model="capacity"),
        short("json", machine=BIG),
    ]
    return write_report(runs, tmp_path_factory.mktemp("results")).parent


@pytest.fixture
def overview(browse: Browse, report: Path) -> Opened:
    return browse(report / "index.html")


@pytest.fixture
def opened(browse: Browse, report: Path) -> Opened:
    return browse(report / "text.html")


def _shares(overview: Opened, table: str = "machine-1", column: int = 1) -> dict[str, str]:
    """The text of a column of the overview, by server."""
    rows = overview.page.locator(f"#{table} tbody tr:visible").all()
    return {
        str(row.get_attribute("data-target")): row.locator("th, td").nth(column).inner_text()
        for row in rows
    }


def test_the_overview_ranks_servers_on_each_machine(overview: Opened) -> None:
    page = overview.page
    expect(page.get_by_text("Results from different machines cannot be compared")).to_be_visible()
    expect(page.locator("section.machine h2").first).to_contain_text("Machine 1: 2 cores")
    shares = _shares(overview)
    assert list(shares) == BY_RATE
    assert re.search(r"best\s*100%.*4,0\d\d/s · \d+ µs", shares["express/express"], re.S)
    assert re.search(r"^\s*22%.*9\d\d/s · 1,\d+ µs", shares["flask/gunicorn"], re.S)
    assert list(_shares(overview, "machine-2")) == BY_RATE
    assert all("noisy" in share for share in _shares(overview, column=2).values()), "measured once"
    expect(page.locator("#machine-2 thead th")).to_have_count(3)
    row = page.locator("#machine-1 tr", has_text="flask/gevent")
    expect(row).to_contain_text("⚠")
    expect(row.locator("td").nth(3)).to_have_text("123")
    expect(page.locator(".notice").first).to_contain_text("Measured once")
    for name in ("text.json", "text.csv", "json-again.csv"):
        expect(page.locator(f"a[href='data/{name}']")).to_be_visible()


def test_the_address_keeps_the_view(overview: Opened) -> None:
    page = overview.page
    page.get_by_role("checkbox", name="node").uncheck()
    page.get_by_label("Server", exact=True).fill("flask, express")
    page.get_by_role("checkbox", name="The search workload").uncheck()
    page.get_by_role("button", name="Sort by The plain workload").press("Enter")
    page.get_by_role("button", name="Sort by The plain workload").press("Enter")
    expect(page.get_by_role("status")).to_have_text("2 of 4 servers shown")
    for _ in range(2):
        shares = _shares(overview)
        assert list(shares) == ["flask/gunicorn", "flask/gevent"]
        assert "100%" in shares["flask/gevent"]
        assert "45%" in shares["flask/gunicorn"]
        expect(page.locator("#machine-1 thead th:visible")).to_have_count(4)
        assert parse_qs(urlsplit(page.url).query) == {
            "language": ["python"],
            "server": ["flask, express"],
            "workload": ["plain,json"],
            "machine-1.sort": ["0 ascending"],
        }
        page.goto(page.url)
    page.locator("thead").get_by_role("link", name="The plain workload").click()
    expect(page.get_by_role("status")).to_have_text("2 of 4 servers shown")
    assert overview.shown("plain") == ["flask/gevent", "flask/gunicorn"]
    section = overview.section("plain")
    section.get_by_role("combobox", name="Load").select_option("200 connections")
    section.get_by_label("Highlight").select_option("flask/gunicorn")
    page.reload()
    expect(section.locator("caption")).to_contain_text("200 connections, 1 worker")
    faint = overview.chart("rate", section="plain").locator(".mark-rect path[opacity='0.15']")
    expect(faint).to_have_count(1)


def test_every_server_is_in_every_chart(opened: Opened) -> None:
    assert opened.shown("text") == BY_RATE
    letters = opened.section().locator("tbody:visible tr:first-child td:nth-child(3)")
    assert letters.all_text_contents() == ["", "A", "A", ""]
    kinds = {"rate": "bars", "cpu": "bars", "percentiles": "percentiles", "p99": "levels"}
    for name, kind in [*kinds.items(), ("p99", "cases")]:
        svg = opened.chart(name, kind).locator("svg")
        for target in SERVERS:
            expect(svg).to_contain_text(target)
    dots = opened.chart("rate").locator(".mark-symbol path")
    expect(dots).to_have_count(3 * len(SERVERS))
    times = opened.chart("p99", "levels").locator("figcaption")
    expect(times).to_contain_text("Response time (closed loop), 99th percentile")
    heads = opened.section().locator("thead")
    expect(heads).to_contain_text("Response time (closed loop), ms")
    expect(heads.get_by_role("button", name=re.compile("Response time"))).to_have_count(0)


def test_a_search_for_the_capacity(browse: Browse, report: Path) -> None:
    opened = browse(report / "search.html")
    chart = opened.chart("steps", "steps", "search")
    expect(chart).to_contain_text("10 ms at the 99th percentile")
    expect(chart.locator(".mark-symbol path")).to_have_count(3 * 3 * len(SERVERS))
    heads = opened.section("search").locator("thead")
    expect(heads.get_by_role("button", name="Latency, ms: p99", exact=True)).to_be_visible()


def test_servers_levels_and_cases_are_chosen(opened: Opened) -> None:
    page, section = opened.page, opened.section()
    bars = opened.chart("rate").locator("svg")
    curves = opened.chart("rate", "levels").locator("svg")
    expect(page.get_by_role("status")).to_have_text("4 of 4 servers shown")
    expect(section.locator("caption")).to_contain_text("10 connections, 1 worker")
    for name in ("node", "greenlets"):
        page.get_by_role("checkbox", name=name).uncheck()
    assert opened.shown() == ["tornado/tornado", "flask/gunicorn"]
    expect(page.get_by_role("status")).to_have_text("2 of 4 servers shown")
    for svg in (bars, curves):
        expect(svg).not_to_contain_text("express/express")
        expect(svg).to_contain_text("flask/gunicorn")
    for name in ("node", "greenlets"):
        page.get_by_role("checkbox", name=name).check()
    section.get_by_role("combobox", name="Case").select_option("2 workers")
    assert opened.shown() == ["express/express", "flask/gevent", "flask/gunicorn"]
    section.get_by_role("combobox", name="Load").select_option("200 connections")
    for place in (section.locator("caption"), opened.chart("rate").locator("figcaption")):
        expect(place).to_contain_text("200 connections, 2 workers")
    once = section.locator("tbody:visible", has_text="tornado/tornado")
    expect(once).to_contain_text("1 of 3 repeats")
    slow = section.locator("tbody:visible", has_text="flask/gunicorn")
    expect(slow).to_contain_text("2 read, 7 timeout")


def test_sorting_by_keyboard(opened: Opened) -> None:
    table = opened.section().locator("table")
    for name, order, servers in (
        ("Server", "ascending", sorted(BY_RATE)),
        ("Server", "descending", sorted(BY_RATE, reverse=True)),
        ("CPU µs per request: server", "ascending", BY_RATE),
        ("Throughput, requests/s: rate, 95% interval", "descending", BY_RATE),
    ):
        button = table.get_by_role("button", name=name, exact=True)
        button.focus()
        assert button.evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
        opened.page.keyboard.press("Enter")
        expect(button.locator("..")).to_have_attribute("aria-sort", order)
        expect(table.locator("[aria-sort]:not([aria-sort=none])")).to_have_count(1)
        assert opened.shown() == servers


def test_warnings_failures_and_settings_are_visible(opened: Opened) -> None:
    section = opened.section()
    warned = section.locator("tbody:visible", has_text="flask/gevent")
    expect(warned.locator(".warnings")).to_be_visible()
    text = "the machine was busy: other programs used 11–13% of it (repeats 1, 2 and 3)"
    expect(warned).to_contain_text(f"spoils: {text}")
    expect(warned).to_contain_text("1, 4")
    expect(section.locator(".notice")).to_contain_text("measurements are spoiled: busy (")
    expect(opened.chart("rate").locator("svg")).to_contain_text("⚠")
    expect(section.get_by_text("2 trials gave no result")).to_be_visible()
    expect(section.locator(".failures li")).to_contain_text(
        "tornado/tornado: it did not start (10 connections, 2 workers, repeat 1; "
        "200 connections, 2 workers, repeat 1)"
    )
    warned.get_by_role("link", name="settings").click()
    details = opened.page.locator("[id='text-flask/gevent']")
    expect(details).to_be_in_viewport()
    expect(details).to_contain_text("serve --bind {host}:{port}")
    expect(details).to_contain_text("WORKERS=2")
    expect(details).to_contain_text("123 lines of code, a driver for MongoDB")
    section.get_by_text("Machine, versions, limits").click()
    expect(section).to_contain_text("somaxconn")


def test_each_machine_has_a_section_with_its_caveats(browse: Browse, report: Path) -> None:
    opened = browse(report / "json.html")
    first, second = opened.section("json"), opened.section("json-again")
    expect(first.locator(".notice")).to_contain_text("Measured once")
    expect(first.locator(".notice")).to_contain_text("Not complete")
    expect(first.locator("h2")).to_have_text("2 cores, a CPU, 7 GiB, Debian, kernel 6.1")
    expect(second.locator("h2")).to_have_text("16 cores, another CPU, 7 GiB, Debian, kernel 6.1")
    assert opened.shown("json") == opened.shown("json-again") == BY_RATE
    dots = opened.chart("rate", section="json").locator(".mark-symbol path")
    expect(dots).to_have_count(len(SERVERS))


@pytest.mark.parametrize("name", ["index.html", "text.html"])
def test_a_screen_reader_can_read_it(browse: Browse, report: Path, name: str) -> None:
    opened = browse(report / name)
    opened.draw_all()
    page = opened.page
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.title()
    for landmark in ("banner", "navigation", "search", "main"):
        expect(page.get_by_role(landmark)).to_have_count(1)
    headings = page.locator("h1, h2, h3, h4")
    levels = headings.evaluate_all("all => all.map(node => Number(node.tagName[1]))")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    charts = page.locator("figure [role=graphics-document]")
    expect(charts).to_have_count(page.locator("figure").count())
    for chart in charts.all():
        assert re.search(r"\w+ .*The table has", chart.get_attribute("aria-label") or "")
    labels = page.locator("input, select").evaluate_all("all => all.map(it => it.labels.length)")
    assert set(labels) == {1}
    for table in page.locator("table").all():
        expect(table.locator("caption")).to_be_visible()
        assert table.locator("thead th:not([scope]), tbody th:not([scope])").count() == 0


@pytest.mark.parametrize(("scheme", "name"), [("light", "text.html"), ("dark", "search.html")])
def test_in_light_and_dark_and_printed(
    browse: Browse, report: Path, scheme: str, name: str
) -> None:
    """How wide they are on a phone, the tests of the site show."""
    opened = browse(report / name, color_scheme=scheme)
    opened.draw_all()
    page = opened.page
    ground = page.locator("body").evaluate("node => getComputedStyle(node).backgroundColor")
    label = page.locator("figure svg text", has_text="flask/gevent").first
    ink = label.evaluate("node => getComputedStyle(node).fill")
    assert (_light(ground), _light(ink)) == ((True, False) if scheme == "light" else (False, True))
    page.emulate_media(media="print")
    expect(page.locator("#filters")).to_be_hidden()
    expect(page.locator(".chart svg")).to_have_count(page.locator(".chart").count())


def _light(color: str) -> bool:
    return sum(map(int, re.findall(r"\d+", color)[:3])) > 3 * 127


def test_no_script_in_a_result_is_run(chromium: Browser, tmp_path: Path) -> None:
    run = a_run(cases=("1 worker",))
    run.failures = [a_failure("flask/gevent", NASTY)]
    run.workload = run.workload.model_copy(update={"title": NASTY, "about": NASTY})
    run.workload_name = f"../{NASTY}"
    run.id = run.project = run.machine.cpu = NASTY
    values: dict[str, float | str] = {"source": f"</script>{NASTY}", "counted": 1.0, "least": 1.0}
    run.measurements[0].warnings = [Warning(kind="other-clients", values=values)]
    for server in run.servers.values():
        server.title = server.folder = server.framework = server.run[0] = NASTY
        server.homepage = "javascript:window.hacked = 1"
    run.servers["flask/gunicorn"].language = run.servers["flask/gunicorn"].model = NASTY
    folder, sections = tmp_path / "report", sections_of([run])
    write_results(sections, folder, Code(folder, "https://example.org/r"))
    name = next(path.name for path in folder.glob("*script*.html"))
    opened = Opened(chromium, folder / name)
    opened.draw_all()
    assert NASTY in opened.page.locator("h1").inner_text()
    assert opened.page.evaluate("window.hacked") is None
    expect(opened.page.locator("a[href^=javascript]")).to_have_count(0)
    opened.page.goto((folder / "index.html").as_uri())
    expect(opened.page.locator("thead").get_by_text(NASTY)).to_be_visible()
    assert opened.page.evaluate("window.hacked") is None
    assert all(url.startswith(folder.as_uri()) for url in opened.asked)
    opened.context.close()
    assert {path.parent for path in folder.rglob("*.*")} == {folder, folder / "data"}
    assert "<script" not in overview_svg(tables_of(sections)[0])
