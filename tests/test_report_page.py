"""The report's page in a browser."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, expect

from bench.report.files import write_report
from bench.result import Failure
from tests.browser import Opened
from tests.runs import BUSY, SERVERS, a_run

pytestmark = pytest.mark.timeout(900)

BY_RATE = ["express/express", "tornado/tornado", "flask/gevent", "flask/gunicorn"]
NASTY = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of a full run and a short one."""
    single = a_run("json", levels=(10,), cases=("1 worker",), repeats=1, complete=False)
    return write_report([a_run(), single], tmp_path_factory.mktemp("results") / "report")


@pytest.fixture
def opened(chromium: Browser, report: Path) -> Iterator[Opened]:
    page = Opened(chromium, report)
    yield page
    page.context.close()
    assert page.wrong == []
    assert page.asked == [page.url]


def test_every_server_is_shown(opened: Opened) -> None:
    opened.draw_all()
    for section in ("text", "json"):
        assert opened.shown(section) == BY_RATE
        for name in ("rate", "cpu"):
            chart = opened.chart(name, section=section)
            for target in SERVERS:
                expect(chart.locator("svg")).to_contain_text(target)
    for kind in ("levels", "cases"):
        labels = opened.chart("p99", kind).locator("svg")
        for target in SERVERS:
            expect(labels).to_contain_text(target)


def test_filters(opened: Opened) -> None:
    page = opened.page
    chart = opened.chart("rate").locator("svg")
    curves = opened.chart("rate", "levels").locator("svg")
    expect(page.get_by_role("status")).to_have_text("4 of 4 servers shown")
    page.get_by_role("checkbox", name="node").uncheck()
    page.get_by_role("checkbox", name="greenlets").uncheck()
    assert opened.shown() == opened.shown("json") == ["tornado/tornado", "flask/gunicorn"]
    expect(page.get_by_role("status")).to_have_text("2 of 4 servers shown")
    for svg in (chart, curves):
        expect(svg).not_to_contain_text("express/express")
        expect(svg).not_to_contain_text("flask/gevent")
        expect(svg).to_contain_text("flask/gunicorn")
    page.get_by_role("checkbox", name="python").uncheck()
    assert opened.shown() == []
    page.get_by_role("checkbox", name="node").check()
    expect(chart).to_contain_text("express/express")


def test_level_and_case_are_chosen(opened: Opened) -> None:
    section = opened.section()
    caption = section.locator("caption")
    expect(caption).to_contain_text("10 connections, 1 worker")
    section.get_by_role("combobox", name="Case").select_option("2 workers")
    assert opened.shown() == ["express/express", "flask/gevent", "flask/gunicorn"]
    section.get_by_role("combobox", name="Load").select_option("200 connections")
    expect(caption).to_contain_text("200 connections, 2 workers")
    expect(opened.chart("rate").locator("figcaption")).to_contain_text("200 connections, 2 workers")
    expect(section.locator("tbody:visible", has_text="tornado/tornado")).to_contain_text(
        "1 of 3 repeats"
    )
    slow = section.locator("tbody:visible", has_text="flask/gunicorn")
    expect(slow).to_contain_text("7 timeout")
    expect(slow).to_contain_text("2 read")


def test_a_server_is_highlighted(opened: Opened) -> None:
    chart = opened.chart("rate")
    opened.section().get_by_label("Highlight").select_option("flask/gunicorn")
    faint = chart.locator(".mark-rect path[opacity='0.15']")
    expect(faint).to_have_count(3)


def test_sorting_by_keyboard(opened: Opened) -> None:
    table = opened.section().locator("table")

    def sort_by(name: str) -> Locator:
        button = table.get_by_role("button", name=name, exact=True)
        button.focus()
        outline = button.evaluate("node => getComputedStyle(node).outlineStyle")
        opened.page.keyboard.press("Enter")
        assert outline == "solid"
        return button.locator("..")

    assert opened.shown() == BY_RATE
    expect(sort_by("Server")).to_have_attribute("aria-sort", "ascending")
    assert opened.shown() == sorted(BY_RATE)
    expect(sort_by("Server")).to_have_attribute("aria-sort", "descending")
    assert opened.shown() == sorted(BY_RATE, reverse=True)
    expect(sort_by("Latency, ms: p99")).to_have_attribute("aria-sort", "ascending")
    assert opened.shown() == BY_RATE
    expect(table.locator("[aria-sort]:not([aria-sort=none])")).to_have_count(1)
    expect(sort_by("Requests per second: median, 95% interval")).to_have_attribute(
        "aria-sort", "descending"
    )
    assert opened.shown() == BY_RATE


def test_warnings_and_failures_are_visible(opened: Opened) -> None:
    warned = opened.section().locator("tbody:visible", has_text="flask/gevent")
    expect(warned.locator(".warnings")).to_be_visible()
    expect(warned).to_contain_text(f"{BUSY.format('11–13')} (repeats 1, 2 and 3)")
    expect(opened.chart("rate").locator("svg")).to_contain_text("⚠")
    section = opened.section()
    expect(section.get_by_text("2 turns gave no figure")).to_be_visible()
    expect(section.locator(".failures li")).to_contain_text(
        "tornado/tornado: it did not start (10 connections, 2 workers, repeat 1; "
        "200 connections, 2 workers, repeat 1)"
    )
    short = opened.section("json")
    for notice in ("Quick run.", "Incomplete run.", "Measured once."):
        expect(short.get_by_text(notice)).to_be_visible()
        expect(section.get_by_text(notice)).to_have_count(0)
    expect(short).to_contain_text("4 of 4 turns were measured")


def test_ties_are_shown(opened: Opened) -> None:
    letters = opened.section().locator("tbody:visible tr:first-child td:nth-child(3)")
    assert letters.all_text_contents() == ["", "A", "A", ""]


def test_code_and_settings_are_linked(opened: Opened) -> None:
    row = opened.section().locator("tbody:visible", has_text="flask/gevent")
    link = row.get_by_role("link", name="flask/gevent")
    folder = Path(unquote(urlsplit(str(link.evaluate("node => node.href"))).path))
    assert (folder / "server.toml").is_file()
    row.get_by_role("link", name="settings").click()
    details = opened.page.locator("[id='text-flask/gevent']")
    expect(details).to_be_in_viewport()
    expect(details).to_contain_text("serve --bind {host}:{port}")
    expect(details).to_contain_text("WORKERS=2")
    opened.section().get_by_text("Machine, versions, limits").click()
    expect(opened.section()).to_contain_text("somaxconn")


def test_a_screen_reader_can_read_it(opened: Opened) -> None:
    opened.draw_all()
    page = opened.page
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.title()
    for landmark in ("banner", "navigation", "search", "main"):
        expect(page.get_by_role(landmark)).to_have_count(1)
    levels = [
        int(tag[1])
        for tag in page.evaluate(
            "[...document.querySelectorAll('h1, h2, h3, h4')].map(node => node.tagName)"
        )
    ]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    charts = page.locator("figure [role=graphics-document]")
    expect(charts).to_have_count(page.locator("figure").count())
    for chart in charts.all():
        assert re.search(r"\w+ .*The table has", chart.get_attribute("aria-label") or "")
    for field in page.locator("input, select").all():
        assert field.evaluate("node => node.labels.length") == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_in_light_and_dark(chromium: Browser, report: Path, scheme: str) -> None:
    opened = Opened(chromium, report, width=360, scheme=scheme)
    opened.draw_all()
    page = opened.page
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    ground = page.locator("body").evaluate("node => getComputedStyle(node).backgroundColor")
    label = opened.chart("rate").locator("svg text", has_text="flask/gevent").first
    ink = label.evaluate("node => getComputedStyle(node).fill")
    assert (_light(ground), _light(ink)) == ((True, False) if scheme == "light" else (False, True))
    assert opened.wrong == []
    opened.context.close()


def _light(color: str) -> bool:
    return sum(map(int, re.findall(r"\d+", color)[:3])) > 3 * 127


def test_no_script_in_a_result_is_run(chromium: Browser, tmp_path: Path) -> None:
    run = a_run(cases=("1 worker",))
    run.failures = [
        Failure(
            target="flask/gevent", case="1 worker", level=10, repeat=1, why=NASTY, disqualifies=True
        )
    ]
    run.workload = run.workload.model_copy(update={"title": NASTY, "about": NASTY})
    run.workload_name = f"../{NASTY}"
    run.id = run.project = run.machine.cpu = NASTY
    run.measurements[0].warnings = [NASTY, "</script><script>window.hacked = 1</script>"]
    for server in run.servers.values():
        server.title = server.folder = server.framework = server.run[0] = NASTY
        server.homepage = "javascript:window.hacked = 1"
    run.servers["flask/gunicorn"].language = run.servers["flask/gunicorn"].model = NASTY
    path = write_report([run], tmp_path / "report")
    opened = Opened(chromium, path)
    opened.draw_all()
    assert NASTY in opened.page.locator("h2").inner_text()
    assert opened.page.evaluate("window.hacked") is None
    expect(opened.page.locator("a[href^=javascript]")).to_have_count(0)
    assert opened.asked == [opened.url]
    opened.context.close()
    assert {one.parent for one in path.parent.iterdir()} == {path.parent}
    assert not any("<script" in one.read_text() for one in path.parent.glob("*.svg"))
