"""Each request of the corpus gets its right answer, to the byte."""

import pytest

from conformance.corpus import Exchange, corpus, fingerprint
from conformance.events import emit
from conformance.expect import answer, right
from conformance.http import Connection, Request, Response
from conformance.marks import catches, control, serves
from conformance.subject import Subject


def _asked(exchange: Exchange) -> object:
    marks = [serves(exchange.part), *([control] if exchange.part == "slow_api" else [])]
    return pytest.param(exchange, id=f"{exchange.part} {exchange.target[:40]}", marks=marks)


@pytest.mark.parametrize("exchange", list(map(_asked, corpus())))
@catches("index-newline", "index-other-byte", "index-bare-type", "html-404", "404-with-detail")
@catches("json-spaces", "json-other-charset", "json-newline", "json-as-text", "odd-status")
@catches("json-escaped", "members-sorted", "id-extended", "long-extended", "article-without-id")
@catches("default-big", "doc-unchecked", "doc-default-for-empty", "plain-400", "detail-no-string")
@catches("number-unbounded", "number-default-for-empty", "number-text-default")
@catches("note-id-500", "note-invented", "agents-inner-join", "agents-unordered")
@catches("agents-empty-string", "agents-number", "fan-out-invented", "fan-out-unordered")
@catches("type-octet-stream", "file-text-newlines", "file-other-byte", "file-200-for-missing")
@catches("missing-file-500", "name-decoded-twice", "gridfs-type-guessed", "gridfs-oldest")
@catches("gridfs-200-for-missing", "missing-revision-500")
def test_answer(subject: Subject, exchange: Exchange) -> None:
    right(subject.ask(exchange.target))


@control
@catches("wrong-after-many")
def test_fingerprint(subject: Subject) -> None:
    """The whole corpus in order, on as few connections as possible, hashed as it is received.

    The hash is reported in any case; the check is that each response is right.
    """
    received: list[tuple[Exchange, Response]] = []
    wrong: AssertionError | None = None
    connection: Connection | None = None
    for exchange in corpus(subject.parts):
        if connection is None or connection.is_readable():
            connection = subject.connect()
        response = connection.request(Request(exchange.target))
        received.append((exchange, response))
        if not subject.keeps(response):
            connection.socket.close()
            connection = None
        try:
            answer(response, exchange.expected)
        except AssertionError as error:
            wrong = wrong or error
    emit(event="fingerprint", value=fingerprint(received))
    if wrong:
        raise wrong
