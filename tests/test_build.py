import json
from pathlib import Path

import pytest

from harness.errors import TaskError, UsageError
from harness.paths import RUN
from harness.servers.build import build
from harness.servers.catalog import Server, find_target
from harness.system.locks import is_locked
from harness.system.processes import wait_until
from tests.manifests import write_server

pytestmark = pytest.mark.quick


def server(folder: Path, *commands: list[str], input: str = "a") -> Server:
    """A server in a folder with one input of its build."""
    recipe = f'[build]\nrun = {json.dumps(commands)}\ninputs = ["input"]\noutput = "made"'
    write_server(folder, "true", more=recipe)
    (folder / "input").write_text(input)
    return find_target(str(folder)).server


COUNT = ["sh", "-c", "mkdir -p made && echo built >> count"]


def test_a_build_is_skipped_until_its_inputs_change_or_its_output_is_gone(tmp_path: Path) -> None:
    example, count = server(tmp_path, COUNT), tmp_path / "count"
    build(example)
    build(example)
    assert count.read_text() == "built\n"
    (tmp_path / "input").write_text("b")
    build(example)
    assert count.read_text() == "built\n" * 2
    (tmp_path / "made" / ".built-from").unlink()
    build(example)
    assert count.read_text() == "built\n" * 3


def test_a_failed_build_shows_its_output_and_is_tried_again(tmp_path: Path) -> None:
    """And nothing that was built before is used."""
    build(server(tmp_path, COUNT))
    fails = ["sh", "-c", "echo the reason; exit 3"]
    for _ in range(2):
        with pytest.raises(TaskError, match=r"(?s)exit status 3.*the reason"):
            build(server(tmp_path, COUNT, fails, input="b"))
    build(server(tmp_path, COUNT))
    assert (tmp_path / "count").read_text() == "built\n" * 4


def test_a_missing_program_input_or_output_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no-such-compiler"):
        build(server(tmp_path, ["no-such-compiler"]))
    with pytest.raises(TaskError, match=r"server\.toml: build\.output: .* no folder made"):
        build(server(tmp_path, ["true"]))
    example = server(tmp_path, COUNT)
    (tmp_path / "input").unlink()
    with pytest.raises(UsageError, match="there is no input"):
        build(example)


def test_a_moved_folder_is_built_again(tmp_path: Path) -> None:
    """Its build output contains the old path."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    build(server(old, COUNT))
    (old / "made" / "script").write_text(str(old))
    old.rename(new)
    build(server(new, COUNT))
    assert (new / "count").read_text() == "built\n" * 2
    assert not (new / "made" / "script").exists()


def test_an_environment_whose_python_has_gone_is_built_again(tmp_path: Path) -> None:
    """As after an upgrade of the system's."""
    environment = ["sh", "-c", "mkdir -p made/bin && ln -sf $PWD/input made/bin/python"]
    build(server(tmp_path, environment, COUNT))
    python = tmp_path / "made" / "bin" / "python"
    python.unlink()
    python.symlink_to(tmp_path / "gone")
    build(server(tmp_path, environment, COUNT))
    assert (tmp_path / "count").read_text() == "built\n" * 2
    assert python.exists()


def test_a_build_holds_its_lock_until_all_its_processes_have_ended(tmp_path: Path) -> None:
    lock = RUN / "locks" / f"build-{tmp_path.name}"
    outlives = "exec >/dev/null 2>&1; for i in $(seq 600); do [ -e over ] && exit; sleep 0.1; done"
    # In a session of its own, so that it is not stopped with the build.
    build(server(tmp_path, ["setsid", "-f", "sh", "-c", outlives], ["mkdir", "-p", "made"]))
    try:
        assert is_locked(lock)
    finally:
        (tmp_path / "over").touch()
    assert wait_until(lambda: not is_locked(lock), timeout=30)
