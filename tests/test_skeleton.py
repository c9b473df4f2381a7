"""`just new --skeleton`: the files that a new server begins with."""

import re
from pathlib import Path

import pytest

from harness.copies.readme import HEADING, blocks
from harness.copies.skeleton import write_skeleton
from harness.errors import UsageError
from harness.servers.catalog import find_servers
from harness.servers.manifest import Build, Deployment, Manifest, load_manifest
from harness.servers.settings import SETTINGS

pytestmark = pytest.mark.quick

LANGUAGES = ("python", "node", "go")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_skeleton_is_found_and_looks_like_a_server(language: str, tmp_path: Path) -> None:
    folder = write_skeleton(f"{language}/my-server", tmp_path)
    assert folder == tmp_path / language / "my-server"
    files = {path.name: path.read_text() for path in folder.iterdir()}
    assert files.keys() == {"server.toml", "README.md", ".env.example", ".gitignore"}
    (server,) = find_servers(tmp_path).values()
    assert (server.name, server.manifest.language) == ("my-server", language)
    install, *run = blocks(files["README.md"])
    assert install[-2:] == ["docker compose up --detach --wait", "cp .env.example .env"]
    assert len(run) == 2
    assert ".env" not in str(run)  # the server reads it
    assert f"./just new {server.name} DIR" in files["README.md"]
    assert re.findall(r"^## .*", files["README.md"], re.MULTILINE)[0] == HEADING
    settings = re.findall(r"^([A-Z_]+)=", files[".env.example"], re.MULTILINE)
    assert {*settings, "THREADS"} == set(SETTINGS)
    assert ".env" in files[".gitignore"].splitlines()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_skeleton_shows_every_field_of_a_manifest(language: str, tmp_path: Path) -> None:
    path = write_skeleton(f"{language}/my-server", tmp_path) / "server.toml"
    optional = re.sub(r"(?m)^# (\[\w+\]|\w+ = )", r"\1", path.read_text())
    needs = re.findall(r"(?m)^needs = .*\n", optional)
    path.write_text(optional.replace(needs[0], "") if len(needs) > 1 else optional)
    manifest = load_manifest(path)
    assert manifest.model_fields_set == set(Manifest.model_fields)
    assert manifest.build
    assert manifest.build.model_fields_set == set(Build.model_fields)
    assert manifest.deployment[0].model_fields_set == set(Deployment.model_fields)
    default = Deployment(name="a", model="event loop", run=["a"])
    example = manifest.deployment[0].model_dump(exclude={"name", "run", "config"})
    assert example == default.model_dump(exclude={"name", "run", "config"})


@pytest.mark.parametrize(
    "place", ["starlette", "python/Starlette", "python/", "../python/a", "a/b/c", "python/a_b"]
)
def test_a_bad_place_is_refused(place: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="LANGUAGE/NAME"):
        write_skeleton(place, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    write_skeleton("python/taken", tmp_path)
    with pytest.raises(UsageError, match="the name taken is taken by"):
        write_skeleton("node/taken", tmp_path)
