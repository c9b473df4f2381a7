"""/index, and paths without an endpoint."""

import pytest

from conformance.corpus import UNKNOWN_PATHS
from conformance.expect import right
from conformance.marks import catches, serves
from conformance.subject import Subject

pytestmark = serves("text")


@catches("index-newline", "index-other-byte", "index-bare-type")
def test_index(subject: Subject) -> None:
    right(subject.ask("/index"))


@pytest.mark.parametrize("path", UNKNOWN_PATHS, ids=lambda path: path[:20])
@catches("html-404", "404-with-detail")
def test_unknown_path(subject: Subject, path: str) -> None:
    right(subject.ask(path))
