"""docs/add-a-server.md builds the server in python/starlette, file by file."""

import re

import pytest

from harness.paths import ROOT

GUIDE = (ROOT / "docs" / "add-a-server.md").read_text()

# A file of the server, after a line with its path
FILE = re.compile(r"^`([^`\n]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(("path", "text"), FILE.findall(GUIDE), ids=lambda value: value[:40])
def test_a_file_of_the_guide_is_the_servers(path: str, text: str) -> None:
    assert (ROOT / path).read_text() == text


def test_the_guide_has_all_files_that_are_written_by_hand() -> None:
    """The skeleton has the others, and tools write locks and answers."""
    folder = ROOT / "python" / "starlette"
    code = {path for part in ("app", "tests") for path in (folder / part).glob("*.py")}
    named = {ROOT / path for path, _ in FILE.findall(GUIDE)}
    missing = {path.name for path in code - named if path.stat().st_size}
    assert missing == set()
