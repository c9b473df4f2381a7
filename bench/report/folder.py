"""The report's folder: its pages, and under ``data/`` all that belongs to them."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.records.result import Run
from bench.report.code import Code
from bench.report.export import as_csv
from bench.report.overview import tables_of
from bench.report.rendering import VEGA, overview_page, vega, workload_pages
from bench.report.section import Section, sections_of
from conformance.pages import GENERATOR
from harness.errors import UsageError

PAGE = "index.html"
_FOLDERS = {"data", "results", "servers"}  # All that tasks write


def write_report(runs: Sequence[Run], folder: Path) -> Path:
    """Write the report of some runs, in place of an earlier one; return the overview's path."""
    with replacing(folder) as new:
        write_results(sections_of(runs), new, Code(folder))
    return folder / PAGE


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """A new folder that takes the place of ``folder`` at the end.

    Raises :class:`UsageError` if that holds files which no task has written.
    """
    _require_ours(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
        new = Path(scratch, "new")
        new.mkdir()
        yield new
        if folder.exists():
            folder.rename(Path(scratch, "old"))
        new.rename(folder)


def write_results(
    sections: Sequence[Section], folder: Path, code: Code, home: str | None = None
) -> None:
    """Write the pages of results and their data; ``home`` is the address of the site's folder."""
    data = folder / "data"
    data.mkdir(parents=True)
    pages = {PAGE: overview_page(tables_of(sections), home)}
    pages |= workload_pages(sections, code, home)
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    (data / VEGA).write_text(vega(), encoding="utf-8")
    for section in sections:
        text = section.run.model_dump_json(indent=1)
        (data / f"{section.name}.json").write_text(f"{text}\n", encoding="utf-8")
        (data / f"{section.name}.csv").write_text(as_csv(section.run), encoding="utf-8")


def _require_ours(folder: Path) -> None:
    """Raise :class:`UsageError` if the folder has files of others."""
    found = sorted(folder.iterdir()) if folder.exists() else []
    known = _FOLDERS if _is_ours(folder / PAGE) else set()
    if strange := [one for one in found if one.name not in known and not _is_ours(one)]:
        raise UsageError(f"{strange[0]} is not a page of an earlier one: give an empty folder")


def _is_ours(page: Path) -> bool:
    head = page.read_text(encoding="utf-8", errors="replace")[:2000] if page.is_file() else ""
    return f'name="generator" content="{GENERATOR}' in head
