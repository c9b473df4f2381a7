"""Files that are not text, and names that are not UTF-8: tasks take them as they are."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.verdict import states_of
from harness.copies.new import copy_server
from harness.servers.build import build
from harness.servers.catalog import Target, find_target
from harness.servers.manifest import Build
from harness.servers.source import count_lines

pytestmark = pytest.mark.quick

STRANGE = {
    b"app/caf\xe9.py": b"name = 'caf\xe9'\n",
    b"app/latin.py": b"# caf\xe9\nname = 1\n",
    b"favicon.ico": b"\0\n\xff\n",
}


@pytest.fixture(params=["in git", "a folder"])
def strange(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    """A copy of Tornado's server with strange files of its own."""
    folder = tmp_path / "strange"
    shutil.copytree(find_target("tornado").server.folder / "app", folder / "app")
    for file in ("server.toml", "pyproject.toml"):
        shutil.copy(find_target("tornado").server.folder / file, folder)
    (folder / "README.md").write_bytes(b"# Strange, caf\xe9\n")
    (folder / "requirements.txt").write_bytes(b"# caf\xe9\ntornado==1\n")
    if request.param == "in git":
        subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    return find_target(str(folder))


def add_strange_files(folder: Path) -> None:
    for name, content in STRANGE.items():
        (folder / os.fsdecode(name)).write_bytes(content)


def test_their_lines_are_counted_and_a_verdict_depends_on_them(strange: Target) -> None:
    lines, states = count_lines(strange.server), states_of([strange])
    add_strange_files(strange.server.folder)
    assert count_lines(strange.server) == lines + 3
    assert states_of([strange]) != states


def test_they_are_inputs_of_a_build(strange: Target) -> None:
    add_strange_files(strange.server.folder)
    counting = ["sh", "-c", "mkdir -p made; echo built >> made/count"]
    recipe = Build(run=[counting], inputs=["app"], output="made")
    manifest = strange.server.manifest.model_copy(update={"build": recipe})
    for _ in range(2):
        build(replace(strange.server, manifest=manifest))
    assert (strange.server.folder / "made" / "count").read_text() == "built\n"


def test_a_copy_has_them(strange: Target, tmp_path: Path) -> None:
    add_strange_files(strange.server.folder)
    copy_server(strange.server, tmp_path / "copy", "mine")
    for name, content in STRANGE.items():
        assert (tmp_path / "copy" / os.fsdecode(name)).read_bytes() == content
    assert (tmp_path / "copy" / "README.md").read_bytes() == b"# mine\n"
