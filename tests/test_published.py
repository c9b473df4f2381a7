"""The published pages, docs/results/ and docs/behaviours.html, show the published results."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from bench.records.store import read
from bench.report.folder import behaviours_page
from harness.paths import ROOT
from tests.browser import Opened
from upkeep.reference import REFERENCE

pytestmark = pytest.mark.timeout(300)

DOCS = ROOT / "docs"
RESULTS = DOCS / "results"
BEHAVIOURS = DOCS / "behaviours.html"
AGAIN = "run `./just report results/reference --site docs`"

PHONE, DESKTOP = 360, 1200


@pytest.mark.quick
def test_every_published_result_is_shown() -> None:
    published = {path: read(path) for path in REFERENCE.glob("*/*.json.gz")}
    shown = {path: read(path) for path in (RESULTS / "data").glob("*.json")}
    by_id = {run.id: run for run in shown.values()}
    assert by_id == {run.id: run for run in published.values()}, AGAIN
    assert len(by_id) == len(published) == len(shown), AGAIN


@pytest.mark.quick
def test_the_recorded_behaviours_are_shown() -> None:
    assert BEHAVIOURS.read_text(encoding="utf-8") == behaviours_page(), AGAIN


@pytest.mark.parametrize(
    "path", [*sorted(RESULTS.glob("*.html")), BEHAVIOURS], ids=lambda path: path.stem
)
def test_a_page_opens_without_a_network(chromium: Browser, path: Path) -> None:
    """On a phone, and then on a desktop."""
    opened = Opened(chromium, path, width=PHONE)
    opened.draw_all()
    assert opened.page.evaluate("document.documentElement.scrollWidth") == PHONE
    opened.page.set_viewport_size({"width": DESKTOP, "height": 900})
    opened.draw_all()
    assert opened.wrong == []
    assert all(url.startswith(DOCS.as_uri()) for url in opened.asked)
    opened.context.close()
