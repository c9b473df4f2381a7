"""What `./just doctor` finds, and how missing programs are installed."""

import json
import os
from pathlib import Path

import pytest

from harness import doctor
from harness.services.mongodb import MongoDB
from harness.toolchains import install
from tests.tasks import call

pytestmark = pytest.mark.quick


def put(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, script: str) -> None:
    """Make a program the first of its name."""
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_doctor() -> None:
    findings = json.loads(call("doctor", "--json").stdout)
    assert {"uv", "git", "curl"} <= {one["what"] for one in findings if one["ok"]}


def test_a_program_may_print_no_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, tmp_path, "mute", "exit 0")
    assert doctor._program("mute", "") == doctor.Finding("mute", True, "")


def test_a_mongod_that_cannot_run_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, tmp_path, "mongod", "echo libcurl.so.4: not found >&2; exit 127")
    monkeypatch.setattr(MongoDB, "mongod", tmp_path / "mongod")
    (found,) = doctor._databases()
    assert (found.ok, found.found) == (False, "libcurl.so.4: not found")
    assert "libcurl4" in found.advice


def test_databases_of_one_s_own_run_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert [one.ok for one in doctor._databases()] == [False]
    for name in ("MONGODB_URL", "DATABASE_URL"):
        monkeypatch.setenv(name, "set")
    assert [one.ok for one in doctor._databases()] == [True]


@pytest.mark.parametrize(("status", "prefix"), [(0, ["sudo", "-n"]), (1, None)])
def test_sudo_without_a_terminal(
    status: int, prefix: list[str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a container is created or a job of CI runs."""
    put(monkeypatch, tmp_path, "sudo", f'[ "$*" = "-n true" ] && exit {status}')
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: SIM115, PTH123
    assert install._as_root() == prefix
