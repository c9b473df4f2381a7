"""The report's folder: its pages, and under ``data/`` all that belongs to them."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.records.result import Run
from bench.report.code import Code
from bench.report.export import as_csv
from bench.report.overview import tables_of
from bench.report.picture import overview_svg
from bench.report.rendering import GENERATOR, VEGA, overview_page, vega, workload_pages
from bench.report.section import Section, sections_of
from conformance.matrix.page import render
from conformance.matrix.rows import rows
from harness.errors import UsageError
from harness.servers.catalog import find_targets
from harness.system.files import write_whole

BEHAVIOURS = "behaviours.html"  # The page of their file
PAGE = "index.html"
DATA = "data"
_OURS = "reference-servers "  # The start of the `generator` of all pages that tasks write


def write_report(
    runs: Sequence[Run], folder: Path, *, behaviours: str = BEHAVIOURS, code: str | None = None
) -> Path:
    """Write the report into a folder, beside other files in it; return the path of the overview.

    ``behaviours`` is the place of their page, relative to the folder. ``code`` is the address of
    the repository, for links to the measured commit; without it, code is linked in this clone. The
    files of an earlier report are replaced once all are written.
    """
    folder = folder.resolve()
    _require_ours(folder, behaviours)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
        new, old = Path(scratch, "new"), Path(scratch, "old")
        (new / DATA).mkdir(parents=True)
        answers = behaviours_page()
        _fill(new, sections_of(runs), Code(folder, code), behaviours)
        for page in folder.glob("*.html"):
            if _is_ours(page, GENERATOR):
                page.unlink()
        if (folder / DATA).exists():
            (folder / DATA).rename(old)
        for path in new.iterdir():
            path.replace(folder / path.name)
        write_whole(folder / behaviours, answers)
    return folder / PAGE


def _fill(folder: Path, sections: Sequence[Section], code: Code, behaviours: str) -> None:
    data = folder / DATA
    tables = tables_of(sections)
    pages = {PAGE: overview_page(tables, behaviours)}
    pages |= workload_pages(sections, code, behaviours)
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    (data / VEGA).write_text(vega(), encoding="utf-8")
    (data / "overview.svg").write_text(overview_svg(tables[0]), encoding="utf-8")
    for section in sections:
        _write_data(data / section.name, section.run)


def _write_data(path: Path, run: Run) -> None:
    path.with_suffix(".json").write_text(run.model_dump_json(indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".csv").write_text(as_csv(run), encoding="utf-8")


def _require_ours(folder: Path, behaviours: str) -> None:
    """Raise if files would be overwritten that are not of an earlier report."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder")
    page = folder / PAGE
    if _is_ours(page):
        return
    for path in (page, folder / DATA, folder / behaviours):
        if path.exists():
            raise UsageError(f"{path} is not a report's: give another folder with --site")


def _is_ours(page: Path, generator: str = _OURS) -> bool:
    head = page.read_text(encoding="utf-8", errors="replace")[:2000] if page.is_file() else ""
    return f'content="{generator}' in head


def behaviours_page() -> str:
    """The page that compares the recorded behaviours of all servers."""
    targets = find_targets(["all"])
    return render(targets, rows(targets))
