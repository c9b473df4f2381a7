"""The whole corpus in order, on as few connections as possible, hashed as it is received."""

from conformance.corpus import Exchange, corpus, fingerprint
from conformance.events import emit
from conformance.expect import answer
from conformance.http import Connection, Request, Response
from conformance.marks import catches, control
from conformance.subject import Subject

pytestmark = control


@catches("wrong-after-many")
def test_fingerprint(subject: Subject) -> None:
    """The hash is reported in any case; the check is that each response is right."""
    received: list[tuple[Exchange, Response]] = []
    wrong: AssertionError | None = None
    connection: Connection | None = None
    for exchange in corpus(subject.parts):
        if connection is None or connection.is_over():
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
