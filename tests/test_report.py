"""The report's files, and the runs that it shows."""

from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench import result
from bench.figures import rows_of
from bench.report import files
from bench.report.cli import main
from bench.report.files import write_report
from bench.result import write
from harness.errors import UsageError
from tests.runs import SERVERS, a_run

pytestmark = [pytest.mark.timeout(300), pytest.mark.quick]


def test_every_chart_is_an_image_file_too(tmp_path: Path) -> None:
    short = a_run("json", levels=(10,), cases=("1 worker",))
    folder = write_report([a_run(), short], tmp_path / "report").parent
    names = {path.stem for path in folder.glob("*.png")}
    assert names == {path.stem for path in folder.glob("*.svg")}
    curves = {f"text-{name}-levels" for name in ("rate", "p99", "failed", "cpu", "peak")}
    cases = {f"text-{name}-cases" for name in ("rate", "p99", "cpu", "peak")}
    bars = {f"{section}-{name}-bars" for section in ("text", "json") for name in ("rate", "cpu")}
    assert names == curves | cases | bars
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in folder.glob("*.png"))
    picture = (folder / "text-rate-bars.svg").read_text()
    assert all(target in picture for target in SERVERS)


def test_it_is_written_atomically(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "report"
    short = a_run(levels=(10,), cases=("1 worker",))
    page = write_report([short], folder)
    before = page.read_bytes()
    write_report([short], folder)

    def fail(*_: object) -> str:
        raise OSError("no space left")

    monkeypatch.setattr(files, "render", fail)
    with pytest.raises(OSError, match="no space"):
        write_report([short], folder)
    assert page.read_bytes() == before
    assert list(tmp_path.iterdir()) == [folder]


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    for name in ("photo.png", "index.html", "notes.txt"):
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        (folder / name).write_text("mine")
        with pytest.raises(UsageError, match="something else"):
            write_report([a_run()], folder)
        assert (folder / name).read_text() == "mine"


def test_without_names_it_shows_the_newest_complete_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result, "RESULTS", tmp_path)
    nothing = CliRunner().invoke(main)
    assert nothing.exit_code == 2
    assert "just bench" in nothing.output
    number = count(1)

    def write_one(about: str, complete: bool) -> None:
        at = next(number)
        run = a_run(levels=(10,), cases=("1 worker",), repeats=1, complete=complete)
        run.workload = run.workload.model_copy(update={"about": about})
        write(run.model_copy(update={"id": f"run-{at}", "started": f"2026-01-0{at}T00:00:00"}))

    write_one("the old one", complete=True)
    write_one("the new one", complete=True)
    write_one("the one that was stopped", complete=False)
    (tmp_path / "broken.json").write_text("{")
    done = CliRunner().invoke(main)
    assert done.exit_code == 0, done.output
    page = tmp_path / "report" / "index.html"
    assert done.stdout.strip() == str(page)
    text = page.read_text()
    assert "the new one" in text
    assert "the old one" not in text
    assert "the one that was stopped" not in text
    named = CliRunner().invoke(main, ["run-1", "run-3", "--output", str(tmp_path / "other")])
    assert named.exit_code == 0, named.output
    both = (tmp_path / "other" / "index.html").read_text()
    assert "the old one" in both
    assert "the one that was stopped" in both


def test_errors_of_one_repeat_are_not_lost() -> None:
    rows = rows_of(a_run())
    crowded = next(row for row in rows if row.target == "flask/gunicorn" and row.level == 200)
    assert crowded.errors.timeout == 7
    assert 0 < (crowded.value("failed") or 0) < 1
