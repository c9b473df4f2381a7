"""The report's folder, with the page and the image files of its charts."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import vl_convert

from bench.report.charts import of_figure
from bench.report.page import GENERATOR, render
from bench.report.section import Section, sections_of
from bench.report.style import PICTURE
from bench.result import Run
from harness.console import progress_bar
from harness.errors import UsageError
from harness.paths import ROOT

PAGE = "index.html"


def write_report(runs: Sequence[Run], folder: Path) -> Path:
    """Write the folder atomically; return the path of the page."""
    folder = folder.resolve()
    _require_ours(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
        new, old = Path(scratch, "new"), Path(scratch, "old")
        new.mkdir()
        _fill(new, runs, os.path.relpath(ROOT, folder))
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    return folder / PAGE


def _fill(folder: Path, runs: Sequence[Run], to_root: str) -> None:
    sections = sections_of(runs)
    with progress_bar() as bar:
        task = bar.add_task("drawing", total=len(sections), note="")
        for section in sections:
            _draw(folder, section)
            bar.advance(task)
    (folder / PAGE).write_text(render(sections, to_root), encoding="utf-8")


def _draw(folder: Path, section: Section) -> None:
    for chart in section.charts:
        values = of_figure(section.chosen(chart), chart.figure.name)
        if not values:
            continue
        title = f"{section.run.workload.title}: {chart.figure.title}"
        drawn = chart.draw(PICTURE, values, title, section.selection(chart))
        svg = vl_convert.vegalite_to_svg(drawn.to_dict())
        path = folder / section.picture(chart)
        path.with_suffix(".svg").write_text(svg, encoding="utf-8")
        path.with_suffix(".png").write_bytes(vl_convert.svg_to_png(svg, scale=2))


def _require_ours(folder: Path) -> None:
    """Raise if the folder has anything in it but an earlier report."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder")
    strange = [
        path.name
        for path in folder.iterdir()
        if path.name != PAGE and path.suffix not in (".png", ".svg")
    ]
    page = folder / PAGE
    ours = page.is_file() and GENERATOR in page.read_text(encoding="utf-8", errors="replace")[:2000]
    if strange or (any(folder.iterdir()) and not ours):
        raise UsageError(f"{folder} has something else in it: give another folder with --output")
