from pathlib import Path

import pytest

from harness.build import build
from harness.catalog import Server
from harness.errors import TaskError, UsageError
from harness.manifest import Build, Deployment, Manifest


def server(folder: Path, *commands: list[str]) -> Server:
    manifest = Manifest(
        title="Example",
        language="python",
        framework="example",
        homepage="https://example.org",
        build=Build(run=list(commands), inputs=["input"], output="made"),
        deployment=[Deployment(name="only", model="threads", run=["true"])],
    )
    return Server("test-example", folder, manifest)


COUNT = ["sh", "-c", "mkdir -p made && echo built >> count"]


def test_a_build_is_skipped_until_its_inputs_change(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("a")
    example = server(tmp_path, COUNT)
    count = tmp_path / "count"
    build(example)
    build(example)
    assert count.read_text() == "built\n"
    (tmp_path / "input").write_text("b")
    build(example)
    assert count.read_text() == "built\n" * 2


def test_a_build_is_run_again_when_its_output_is_gone(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("a")
    example = server(tmp_path, COUNT)
    build(example)
    (tmp_path / "made" / ".built-from").unlink()
    build(example)
    assert (tmp_path / "count").read_text() == "built\n" * 2


def test_a_failed_build_tells_its_output_and_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("a")
    example = server(tmp_path, COUNT, ["sh", "-c", "echo the reason; exit 3"])
    for _ in range(2):
        with pytest.raises(TaskError, match=r"(?s)exit status 3.*the reason"):
            build(example)
    assert (tmp_path / "count").read_text() == "built\n" * 2


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("a")
    with pytest.raises(UsageError, match="no-such-compiler"):
        build(server(tmp_path, ["no-such-compiler"]))
    (tmp_path / "input").unlink()
    with pytest.raises(UsageError, match="input"):
        build(server(tmp_path, COUNT))
