"""/files: bytes, types, conditions, ranges, and what no request may read."""

import os
import time
from email.utils import formatdate, parsedate_to_datetime

import pytest

import spec
from conformance.contract.test_parameters import check
from conformance.corpus import BAD_NAMES, Exchange, corpus
from conformance.expect import answer, holds, one_of, same
from conformance.faults import catches
from conformance.http import Request, Response
from conformance.memory import serves_slow_clients_within, serves_within
from conformance.needs import control, serves
from conformance.subject import BIG, SECRET, Controlled, Subject

pytestmark = serves("files")

PHOTO = "/files/photo.jpg"
CONTENT = spec.files()["photo.jpg"]


@pytest.mark.parametrize(
    "exchange",
    [one for one in corpus(["files"]) if one.answer.status in (200, 404)],
    ids=lambda exchange: exchange.name,
)
@catches("machine-types", "type-without-charset", "name-decoded-twice", "plus-is-space")
@catches("file-200-for-missing", "dotfile-served", "directory-served", "link-followed")
@catches("path-escape", "missing-file-500", "file-text-newlines")
def test_names(subject: Subject, exchange: Exchange) -> None:
    check(subject, exchange)


@pytest.mark.parametrize(
    "name", [*BAD_NAMES, "../outside.txt", "../../index", "x/../../outside.txt"]
)
@catches("path-escape", "link-followed")
def test_nothing_outside_the_folder_is_read(subject: Subject, name: str) -> None:
    for target in (f"/files/{name}", f"/files//{name}", f"//files/{name}"):
        with subject.connect() as connection:
            connection.send(Request(target, headers=(("Connection", "close"),)).encode("x"))
            raw = connection.read_raw(2)
        assert SECRET not in raw, f"{target} reads {SECRET!r}, which is outside the folder"


@catches("file-without-etag", "file-without-date", "file-without-accept-ranges")
def test_headers(subject: Subject) -> None:
    response = subject.ask(PHOTO)
    answer(response, "image/jpeg", CONTENT)
    holds("ETag", "an entity tag", _is_etag(response.header("ETag")), _etag(response), response)
    same("Accept-Ranges", "bytes", response.header("Accept-Ranges"), response)
    modified = response.header("Last-Modified") or ""
    holds("Last-Modified", "an HTTP date", modified.endswith(" GMT"), modified, response)


@control
@catches("file-date-now")
def test_last_modified_is_the_files(controlled: Controlled) -> None:
    response = controlled.ask(PHOTO)
    told = parsedate_to_datetime(response.header("Last-Modified") or "").timestamp()
    stored = (controlled.files / "photo.jpg").stat().st_mtime
    holds("Last-Modified", "the file's, to 1 s", abs(told - stored) <= 1, told - stored, response)


@catches("etag-changes", "if-none-match-ignored", "if-none-match-strong", "304-without-etag")
@catches("if-none-match-one", "304-with-body")
def test_if_none_match(subject: Subject) -> None:
    etag = _etag(subject.ask(PHOTO))
    same("ETag", etag, _etag(subject.ask(PHOTO)), subject.ask(PHOTO))
    opaque = etag.removeprefix("W/")
    for value in (etag, opaque, f"W/{opaque}", f'"other", {etag}', f'W/"x",{opaque} , "y"', "*"):
        for method in ("GET", "HEAD"):
            response = subject.ask(PHOTO, method, {"If-None-Match": value})
            same(f"status with If-None-Match: {value}", 304, response.status, response)
            same("body", b"", response.body, response)
            same("ETag", etag, response.header("ETag"), response)
    for value in ('"other"', 'W/"other", "another"', opaque[:-2] + '"'):
        response = subject.ask(PHOTO, headers={"If-None-Match": value})
        answer(response, "image/jpeg", CONTENT)


@catches("if-modified-since-ignored", "if-modified-since-always", "if-modified-since-first")
@catches("if-modified-since-fraction")
def test_if_modified_since(subject: Subject) -> None:
    first = subject.ask(PHOTO)
    modified = first.header("Last-Modified") or ""
    later = formatdate(time.time() - 1, usegmt=True)
    earlier = formatdate(0, usegmt=True)

    def ask(since: str, etag: str | None = None) -> Response:
        headers = {"If-Modified-Since": since} | ({"If-None-Match": etag} if etag else {})
        return subject.ask(PHOTO, headers=headers)

    for since in (modified, later):
        response = ask(since)
        same(f"status with If-Modified-Since: {since}", 304, response.status, response)
        same("body", b"", response.body, response)
    for since in (earlier, "not a date"):
        answer(ask(since), "image/jpeg", CONTENT)
    answer(ask(modified, '"other"'), "image/jpeg", CONTENT)
    same("status, If-None-Match deciding", 304, ask(earlier, _etag(first)).status, first)


@control
@catches("etag-of-name", "file-cached")
def test_a_file_that_changes(controlled: Controlled) -> None:
    file = controlled.files / "changing.txt"
    file.write_bytes(b"before")
    os.utime(file, (1_600_000_000, 1_600_000_000))
    before = controlled.ask("/files/changing.txt")
    answer(before, "text/plain; charset=utf-8", b"before")
    file.write_bytes(b"after!")
    after = controlled.ask("/files/changing.txt")
    answer(after, "text/plain; charset=utf-8", b"after!")
    holds("ETag", "another than before", _etag(before) != _etag(after), _etag(after), after)
    again = controlled.ask("/files/changing.txt", headers={"If-None-Match": _etag(before)})
    answer(again, "text/plain; charset=utf-8", b"after!")
    file.unlink()
    same("status of a removed file", 404, controlled.ask("/files/changing.txt").status, after)


@pytest.mark.parametrize(
    "exchange",
    [one for one in corpus(["files"]) if one.answer.status in (206, 416)],
    ids=lambda exchange: exchange.name,
)
@catches(
    "range-ignored", "range-off-by-one", "range-suffix-as-start", "range-without-content-range"
)
@catches("416-without-content-range", "range-past-end-416")
def test_one_range(subject: Subject, exchange: Exchange) -> None:
    check(subject, exchange)


@pytest.mark.parametrize("value", ["bytes=0-9,20-29", "bytes=0-0, -1", "bytes=5-9,99999999-"])
@catches("ranges-first-only")
def test_several_ranges(subject: Subject, value: str) -> None:
    response = subject.ask(PHOTO, headers={"Range": value})
    one_of("status", (200, 206, 416), response.status, response)
    if response.status == 200:
        answer(response, "image/jpeg", CONTENT)
    elif response.status == 206 and "99999999" not in value:
        kind = response.content_type or ""
        expected = "multipart/byteranges"
        holds("Content-Type", expected, kind.startswith(expected), kind, response)
        for first, last in ((0, 9), (20, 29)) if "," in value and " " not in value else ():
            holds(
                "parts",
                f"bytes {first} to {last}",
                CONTENT[first : last + 1] in response.body,
                response.body,
                response,
            )


@pytest.mark.parametrize(
    "value",
    [
        "bytes=abc",
        "bytes=5-2",
        "bytes=--5",
        "bytes",
        "bytes=",
        "lines=0-5",
        "bytes=1-x",
        "0-5",
        "bytes=-",
    ],
)
@catches("range-malformed-400", "range-malformed-206")
def test_a_malformed_range(subject: Subject, value: str) -> None:
    response = subject.ask(PHOTO, headers={"Range": value})
    one_of("status", (200, 416), response.status, response)
    if response.status == 200:
        answer(response, "image/jpeg", CONTENT)


@pytest.mark.parametrize(
    "validator", ['"other"', 'W/"other"', "Mon, 01 Jan 1990 00:00:00 GMT", "nonsense"]
)
@catches("if-range-ignored")
def test_if_range_with_another_validator(subject: Subject, validator: str) -> None:
    headers = {"Range": "bytes=0-9", "If-Range": validator}
    answer(subject.ask(PHOTO, headers=headers), "image/jpeg", CONTENT)


@control
@catches("file-in-memory")
def test_a_big_file_is_streamed(controlled: Controlled) -> None:
    serves_within(controlled, "/files/big.bin", BIG)


@control
@catches("reads-ahead")
def test_a_big_file_to_slow_clients(controlled: Controlled) -> None:
    controlled.ask("/files/photo.jpg")
    serves_slow_clients_within(controlled, "/files/big.bin")


@control
@catches("truncation-kills", "truncation-hangs")
def test_a_file_cut_short_while_it_is_sent(controlled: Controlled) -> None:
    file = controlled.files / "shrinking.bin"
    with file.open("wb") as shrinking:
        shrinking.truncate(BIG)
    pids = {process.pid for process in controlled.processes()}
    with controlled.connect(timeout=8) as connection:
        connection.send(Request("/files/shrinking.bin").encode("x"))
        connection.socket.recv(1 << 16)
        os.truncate(file, 1 << 20)
        received, ended = 0, False
        try:
            while data := connection.socket.recv(1 << 20):
                received += len(data)
            ended = True
        except ConnectionResetError:
            ended = True
        except TimeoutError:
            pass
    assert ended, f"the connection hangs after {received} bytes of a file that was cut short"
    time.sleep(0.2)
    alive = {process.pid for process in controlled.processes()}
    assert pids <= alive, "a process died when a file was cut short while it was sent"
    answer(controlled.ask(PHOTO), "image/jpeg", CONTENT)


def _etag(response: Response) -> str:
    return response.header("ETag") or ""


def _is_etag(value: str | None) -> bool:
    opaque = (value or "").removeprefix("W/")
    return len(opaque) > 2 and opaque[0] == opaque[-1] == '"' and '"' not in opaque[1:-1]
