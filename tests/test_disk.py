"""Full disks and read-only folders: one clear line, and nothing is torn or lost."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


@contextmanager
def mounted(folder: Path, *what: str | Path) -> Iterator[None]:
    """Mount a file system, or another folder, at a new folder inside the block."""
    folder.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", *what, folder], check=False).returncode:
        pytest.skip("only root can mount")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_result_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The earlier result stays, and the error says what to do."""
    small = tmp_path / "small"
    monkeypatch.setattr(store, "RESULTS", small)
    # Signals are pytest's own here.
    monkeypatch.setattr(task, "_SIGNALS", ())
    made = a_run()

    @click.command()
    @reports_errors
    def main() -> None:
        write(made)

    with mounted(small, "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs"):
        path = write(made)
        with suppress(OSError):
            (small / "filler").write_bytes(bytes(SIZE))
        done = CliRunner().invoke(main)
        assert done.exit_code == 2
        assert done.stderr == f"error: {path}: No space left on device: make room on the disk\n"
        assert read(path) == made
        assert {one.name for one in small.iterdir()} == {path.name, "filler"}


def test_a_clone_that_cannot_be_written(tmp_path: Path) -> None:
    clone, read_only = tmp_path / "clone", tmp_path / "read-only"
    shutil.copytree(ROOT / "requirements", clone / "requirements")
    for name in ("just", "Justfile"):
        shutil.copy(ROOT / name, clone)
    with mounted(read_only, "--bind", "-o", "ro", clone):
        done = execute(read_only / "just", "list")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert f"cannot write to {read_only}" in done.stderr
