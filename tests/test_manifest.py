from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.servers.build import toolchain
from harness.servers.catalog import (
    broken_manifests,
    find_servers,
    find_target,
    find_targets,
    require_all,
)
from harness.servers.manifest import load_manifest
from harness.servers.versions import dependencies, runtime
from harness.system.programs import parse_version
from harness.toolchains.install import require

pytestmark = pytest.mark.quick

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


def write(root: Path, text: str, name: str = "python/example") -> Path:
    path = root / name / "server.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("good", "bad", "field"),
    [
        ('title = "Example"\n', "", "title"),
        ('language = "python"', 'language = "C++"', "language"),
        ('model = "threads"', 'model = "magic"', "deployment.0.model"),
        ('run = ["server", "--port", "{port}"]', "run = []", "deployment.0.run"),
        ("{port}", "{prot}", "deployment.0: run: {prot} is none of {host}, {port}, {address}"),
        ("{port}", "{config}", "{config} is none of"),
        ("{port}", "{port", "deployment.0"),
        ('name = "second"', 'name = "Second one"', "words joined by -"),
        ('name = "second"', 'name = "first"', "first"),
        ("concurrent = false", 'concurrent = "no"', "deployment.1.concurrent"),
        ("concurrent = false", "concurent = false", "deployment.1.concurent"),
        ('model = "threads"', 'model = "threads"\ncopied = false', "copied"),
        ("concurrent = false", 'files = ["only.ini"]', "copied"),
        ('inputs = ["requirements.txt"]', "inputs = []", "build.inputs"),
        ('output = ".venv"', 'output = "."', "build: output: should be a folder"),
        ('output = ".venv"', 'output = "../.venv"', "build: output: should be a folder"),
        ("concurrent = false", 'unasked = ["smugling"]', "should be one of bodies, connection"),
        ('homepage = "https://example.org"', 'homepage = "example.org"', "homepage"),
        ("[build]", 'needs = ["cobol"]\n[build]', "needs.0.toolchain"),
        ("[build]", 'needs = [{name = "Go"}]\n[build]', "needs.0.tool.check"),
        ("[build]", "[build", "TOML"),
    ],
)
def test_errors_name_the_file_and_the_field(
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
    write(tmp_path, GOOD, "python/other")
    assert [one.name for one in find_targets(("example",), tmp_path)] == [
        "example/first",
        "example/second",
    ]
    assert find_target("example", tmp_path).name == "example/first"
    assert find_target("other/second", tmp_path).name == "other/second"
    assert len(find_targets(("all", "other"), tmp_path)) == 4
    with pytest.raises(UsageError, match="did you mean example/second"):
        find_target("example/secnd", tmp_path)


def test_two_servers_of_one_name_are_refused(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    write(tmp_path, GOOD, "node/example")
    assert find_servers(tmp_path)["example"].folder.parent.name == "node"
    (broken,) = broken_manifests(tmp_path)
    assert broken.endswith(f"the name example is taken by {tmp_path / 'node' / 'example'}")


def test_a_broken_manifest_affects_only_its_own_server(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    path = write(tmp_path, GOOD.replace('title = "Example"', "title = 5"), "python/other")
    assert len(find_targets(("all",), tmp_path)) == 2
    for name in ("other", "other/first"):
        with pytest.raises(UsageError, match=f"{path}: title"):
            find_target(name, tmp_path)
    with pytest.raises(UsageError, match=f"left out: {path}: title"):
        require_all(("all",), tmp_path)
    require_all(("example",), tmp_path)


def test_a_server_in_any_language_describes_its_own_prerequisites(tmp_path: Path) -> None:
    needs = """needs = [
        {name = "a shell", check = ["sh", "-c", "echo version 5.6"], install = "apt install dash"},
        {name = "Cobol", check = ["cobc", "--version"], install = "apt install gnucobol"},
    ]
    """
    text = GOOD.replace('language = "python"', 'language = "cobol"')
    manifest = load_manifest(write(tmp_path, text.replace("[build]", f"{needs}\n[build]")))
    shell, cobol = manifest.needs
    require([toolchain(shell)])
    with pytest.raises(UsageError, match="Cobol is missing: apt install gnucobol"):
        require([toolchain(cobol)])
    server = find_target("example", tmp_path).server
    assert runtime(server) == {"a shell": "5.6"}
    assert dependencies(server) == {}


def test_versions() -> None:
    assert parse_version("javac 21") == (21,)
    assert parse_version("h2load nghttp2/1.52.0") == (1, 52, 0)
    assert parse_version("no number") is None


def test_every_manifest_of_the_repository_is_valid() -> None:
    assert broken_manifests() == []
