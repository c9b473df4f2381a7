from pathlib import Path

import pytest

from harness.catalog import find_servers, find_target, find_targets
from harness.errors import UsageError
from harness.manifest import load_manifest

GOOD = """
title = "Example"
language = "python"
framework = "example"
homepage = "https://example.org"

[build]
run = [["true"]]
inputs = ["requirements.txt"]
output = ".venv"

[[deployment]]
name = "first"
model = "threads"
run = ["server", "--port", "{port}"]

[[deployment]]
name = "second"
model = "event loop"
run = ["server"]
concurrent = false
"""


def write(root: Path, text: str, name: str = "example") -> Path:
    path = root / "python" / name / "server.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_a_good_manifest(tmp_path: Path) -> None:
    manifest = load_manifest(write(tmp_path, GOOD))
    assert [one.name for one in manifest.deployment] == ["first", "second"]
    assert manifest.deployment[0].concurrent
    assert not manifest.deployment[1].concurrent
    assert manifest.parts is None


@pytest.mark.parametrize(
    ("good", "bad", "field"),
    [
        ('title = "Example"\n', "", "title"),
        ('title = "Example"', "title = 5", "title"),
        ('language = "python"', 'language = "cobol"', "language"),
        ('model = "threads"', 'model = "magic"', "deployment.0.model"),
        ('run = ["server", "--port", "{port}"]', 'run = "server --port 1"', "deployment.0.run"),
        ('run = ["server", "--port", "{port}"]', "run = []", "deployment.0.run"),
        ('name = "second"', 'name = "first"', "first"),
        ("concurrent = false", 'concurrent = "no"', "deployment.1.concurrent"),
        ("concurrent = false", "concurent = false", "deployment.1.concurent"),
        ('inputs = ["requirements.txt"]', "inputs = []", "build.inputs"),
        ('homepage = "https://example.org"', 'homepage = "example.org"', "homepage"),
        ("[build]", "[build", "TOML"),
    ],
)
def test_a_mistake_is_told_by_file_and_field(
    tmp_path: Path, good: str, bad: str, field: str
) -> None:
    assert good in GOOD
    path = write(tmp_path, GOOD.replace(good, bad))
    with pytest.raises(UsageError) as error:
        load_manifest(path)
    assert str(path) in str(error.value)
    assert field in str(error.value)


def test_names(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    write(tmp_path, GOOD, "other")
    assert [one.name for one in find_targets(("example",), tmp_path)] == [
        "example/first",
        "example/second",
    ]
    assert find_target("example", tmp_path).name == "example/first"
    assert find_target("other/second", tmp_path).name == "other/second"
    assert len(find_targets(("all", "other"), tmp_path)) == 4


def test_an_unknown_name_is_answered_with_the_nearest(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    with pytest.raises(UsageError, match="did you mean example"):
        find_target("exmaple", tmp_path)
    with pytest.raises(UsageError, match="example/second"):
        find_target("example/secnd", tmp_path)


def test_two_servers_of_one_name_are_refused(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    second = tmp_path / "node" / "example" / "server.toml"
    second.parent.mkdir(parents=True)
    second.write_text(GOOD)
    with pytest.raises(UsageError, match="example"):
        find_servers(tmp_path)


def test_every_manifest_of_the_repository_is_valid() -> None:
    assert {"aiohttp", "tornado"} <= find_servers().keys()
