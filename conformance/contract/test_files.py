"""/files: the content of the folder's files, and of no others."""

import pytest

from conformance.expect import answer, problem, same
from conformance.http import Request
from conformance.marks import catches, control, serves
from conformance.subject import SECRET, Controlled, Subject, fresh_name
from spec import Expected

pytestmark = serves("files")

# Names that lead out of the folder; ``{outside}`` is the absolute path of a file there
ESCAPES = (
    *("../outside.txt", "x/../../outside.txt", "..%2foutside.txt", "..%2Foutside.txt"),
    *("%2e%2e/outside.txt", "%2e%2e%2foutside.txt", ".%2e/outside.txt", "..%5coutside.txt"),
    *("%2e%2e%5coutside.txt", "..%252foutside.txt", "%c0%ae%c0%ae%c0%afoutside.txt"),
    *("....//outside.txt", "photo.jpg/../../outside.txt", "..;/outside.txt"),
    *("..%00/outside.txt", "{outside}", "/{outside}", "%2f{outside}", "%2F%2f{outside}"),
)


@control
@pytest.mark.parametrize("name", ESCAPES)
@catches("path-escape")
def test_no_byte_from_outside(controlled: Controlled, name: str) -> None:
    """However the name is written; the server answers, or closes the connection."""
    outside = (controlled.files.parent / "outside.txt").as_posix().removeprefix("/")
    name = name.format(outside=outside)
    for target in (f"/files/{name}", f"/files//{name}", f"//files/{name}"):
        with controlled.connect() as connection:
            connection.send(Request(target, headers=(("Connection", "close"),)).encode("x"))
            raw = connection.read_some() + connection.read_raw(1)
        assert SECRET not in raw, f"{target} reads {SECRET!r}, which is outside the folder"


@catches("endpoint-as-file")
def test_the_name_of_an_endpoint_is_no_file(subject: Subject) -> None:
    problem(subject.ask("/files/index"), 404)


@control
@catches("file-cached")
def test_a_file_that_changes(controlled: Controlled) -> None:
    name = fresh_name("txt")
    file = controlled.files / name
    for content in (b"before", b"after, and longer"):
        file.write_bytes(content)
        answer(controlled.ask(f"/files/{name}"), Expected(200, "text/plain", content))
    file.unlink()
    gone = controlled.ask(f"/files/{name}")
    same("status of a removed file", 404, gone.status, gone)
