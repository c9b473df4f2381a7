"""docs/add-a-server.md: its files and commands make a server that passes all checks."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.build import environment
from harness.paths import ROOT, TOOLS
from harness.sources import source_files
from tests.tasks import sh

pytestmark = pytest.mark.timeout(900)

GUIDE = ROOT / "docs" / "add-a-server.md"

STEP = re.compile(
    r"^`(?P<path>[^`\n]+)`:\n\n```\w+\n(?P<text>.*?)^```$|^```sh\n(?P<commands>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
"""A file, after a line with its path, or commands."""

CHECKS = (
    ".venv/bin/python -m pytest --quiet -p no:cacheprovider "
    "tests/test_new.py tests/test_all_servers.py -k '(starlette or readme) and not keeps'"
)
"""The project's tests of the files of a server."""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of the repository as it is, with the tools that are installed here."""
    folder = tmp_path_factory.mktemp("guide") / "clone"
    for source in source_files(ROOT):
        copy = folder / source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, copy)
    TOOLS.mkdir(exist_ok=True)
    (folder / TOOLS.name).symlink_to(TOOLS)
    return folder


def steps() -> Iterator[tuple[str, str]]:
    """Each step's path, or "" for commands, and its text."""
    for step in STEP.finditer(GUIDE.read_text()):
        yield step["path"] or "", step["text"] or step["commands"]


def test_every_block_is_a_step() -> None:
    fences = re.findall(r"^```(\w+)$", GUIDE.read_text(), re.MULTILINE)
    examples = 1  # of output
    assert len(list(steps())) == len(fences) - examples


def test_the_guide_ends_with_a_server_that_passes(clone: Path) -> None:
    """Nothing else in the repository has to change, but for the table in README.md."""
    others = {path: path.read_bytes() for path in source_files(clone) if path.name != "README.md"}
    env = environment()
    output = ""
    for path, text in steps():
        if path:
            (clone / path).parent.mkdir(exist_ok=True)
            (clone / path).write_text(text)
        else:
            # Versions that are tested here, so that a new release of Starlette breaks nothing.
            constraint = ROOT / "python" / "fastapi" / "requirements-dev.txt"
            compiles = {"UV_CONSTRAINT": str(constraint)} if "compile" in text else {}
            output += sh(text, clone, env | compiles)
    assert "ok      starlette" in output
    listed = json.loads(sh("./just list --json", clone, env))
    assert "python/starlette" in {server["folder"] for server in listed}
    sh(CHECKS, clone, env)
    assert {path: path.read_bytes() for path in others} == others
