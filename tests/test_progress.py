"""What takes long shows what it does, in a pipe too."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.console import without_bar
from harness.paths import ROOT
from tests.manifests import write_server
from tests.programs import execute
from tests.tasks import call

pytestmark = pytest.mark.quick

TESTS = """
import subprocess, time
from tests import progress

progress.SILENCE = 0.2

def test_long():
    print("captured")
    time.sleep(3)

def test_task(aloud):
    with aloud():
        subprocess.run(["sh", "-c", "echo its progress >&2; sleep 0.5"])
"""


def test_a_long_test_is_named_while_it_runs(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    plugins = ("-p", "tests.progress", "-p", "no:cacheprovider")
    done = execute(
        *(sys.executable, "-m", "pytest", *plugins, "."),
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        errors=subprocess.STDOUT,
    )
    assert re.search(r"(?m)^test_it\.py::test_long has run for \d s$", done.stdout), done.stdout
    assert "\nits progress\n" in done.stdout
    assert "captured" not in done.stdout
    assert "test_task has" not in done.stdout


def test_checks_are_named_as_they_begin(tmp_path: Path) -> None:
    write_server(tmp_path, "true", more='checks = [["true"]]')
    done = call("check", str(tmp_path))
    assert f"checking {tmp_path.name}\n" in done.stderr
    assert done.stdout == f"ok      {tmp_path.name}\n"


def test_lines_of_progress_are_seldom(capsys: pytest.CaptureFixture[str]) -> None:
    for seconds in (60.0, 0.0):
        aside = without_bar(seconds)
        for text in ("first", "second"):
            aside(text)
    assert capsys.readouterr().err == "first\nfirst\nsecond\n"
