"""Full disks and read-only folders: one clear line, and nothing is torn or lost."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from bench.records import store
from bench.records.store import read, write
from harness import task
from harness.paths import ROOT
from harness.task import reports_errors
from tests.programs import execute
from tests.runs import a_run

pytestmark = [pytest.mark.timeout(300), pytest.mark.quick]

SIZE = 256 << 10


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system with a capacity of ``SIZE`` bytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mounting, check=False).returncode:
        pytest.skip("only root can mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path) -> None:
    content = bytes(SIZE)
    with suppress(OSError), (folder / "filler").open("wb", buffering=0) as file:
        while file.write(content):
            pass


def test_a_result_on_a_full_disk(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The earlier result stays, and the error says what to do."""
    monkeypatch.setattr(store, "RESULTS", small)
    # Signals are pytest's own here.
    monkeypatch.setattr(task, "_SIGNALS", ())
    made = a_run()
    path = write(made)
    fill(small)

    @click.command()
    @reports_errors
    def main() -> None:
        write(made)

    done = CliRunner().invoke(main)
    assert done.exit_code == 2
    assert done.stderr == (f"error: {path}: No space left on device: make room on the disk\n")
    assert read(path) == made
    assert {one.name for one in small.iterdir()} == {path.name, "filler"}


def test_a_clone_that_cannot_be_written(tmp_path: Path) -> None:
    clone, read_only = tmp_path / "clone", tmp_path / "read-only"
    clone.mkdir()
    read_only.mkdir()
    for name in ("just", "Justfile"):
        shutil.copy(ROOT / name, clone)
    shutil.copytree(ROOT / "requirements", clone / "requirements")
    bind = ["mount", "--bind", "-o", "ro", str(clone), str(read_only)]
    if os.geteuid() != 0 or subprocess.run(bind, check=False).returncode:
        pytest.skip("only root can mount")
    done = execute(read_only / "just", "list")
    subprocess.run(["umount", str(read_only)], check=True)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert f"cannot write to {read_only}" in done.stderr
