"""/index and /json, and what holds for every endpoint alike."""

import pytest

import spec
from conformance.expect import JSON, TEXT, Mismatch, answer, dated, same
from conformance.faults import catches
from conformance.needs import each_endpoint, serves
from conformance.subject import Subject


@serves("text")
@catches("index-newline", "index-other-byte", "index-bare-type")
def test_index(subject: Subject) -> None:
    answer(subject.ask("/index"), TEXT, b"Hello, World!")


@serves("json")
@catches("json-spaces", "json-charset", "json-newline")
def test_json(subject: Subject) -> None:
    answer(subject.ask("/json"), JSON, spec.json_body({"message": "Hello, World!"}))


@each_endpoint
@catches("head-405", "head-without-length", "head-other-type", "head-body")
def test_head_has_the_headers_of_get(subject: Subject, target: str) -> None:
    get, head = subject.ask(target), subject.ask(target, "HEAD")
    same("status", 200, get.status, get)
    same("status", 200, head.status, head)
    for name in ("Content-Type", "Content-Length", "ETag", "Last-Modified", "Accept-Ranges"):
        same(name, get.header(name), head.header(name), head)
    with subject.connect() as connection:
        connection.send(
            b"HEAD %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % target.encode()
        )
        raw = connection.read_raw(2)
    if not raw.endswith(b"\r\n\r\n") or raw.count(b"\r\n\r\n") != 1:
        raise Mismatch("HEAD", "nothing after the headers", raw[-200:], head)


@each_endpoint
@catches("powered-by", "no-date", "stale-date", "local-date", "chunked-body")
def test_headers_of_every_response(subject: Subject, target: str) -> None:
    for response in (
        subject.ask(target),
        subject.ask(target, "POST"),
        subject.ask(f"{target.split('?')[0]}/nothing"),
    ):
        dated(response)
        same("X-Powered-By", None, response.header("X-Powered-By"), response)
        length = str(len(response.body))
        same("Content-Length", length, response.header("Content-Length"), response)
        same("Transfer-Encoding", None, response.header("Transfer-Encoding"), response)


@pytest.mark.parametrize("accept", ["*/*", "text/html", "image/png;q=0.5", "application/xml"])
@each_endpoint
@catches("negotiates")
def test_accept_changes_nothing(subject: Subject, target: str, accept: str) -> None:
    plain = subject.ask(target)
    asked = subject.ask(target, headers={"Accept": accept, "Accept-Language": "fr"})
    answer(asked, plain.content_type or "", plain.body)


@each_endpoint
@catches("compresses")
def test_nothing_is_compressed(subject: Subject, target: str) -> None:
    plain = subject.ask(target)
    asked = subject.ask(target, headers={"Accept-Encoding": "gzip, deflate, br"})
    same("Content-Encoding", None, asked.header("Content-Encoding"), asked)
    answer(asked, plain.content_type or "", plain.body)
