"""The whole corpus in order on as few connections as can be, hashed."""

from conformance.contract.conftest import tell
from conformance.contract.test_connection import kept_alive
from conformance.corpus import Answer, Exchange, corpus, fingerprint, normalised
from conformance.expect import same
from conformance.faults import catches
from conformance.http import Connection
from conformance.needs import control
from conformance.subject import Subject

pytestmark = control


@catches("wrong-after-many")
def test_fingerprint(subject: Subject) -> None:
    exchanges = corpus(subject.parts)
    answers: list[tuple[Exchange, Answer]] = []
    connection: Connection | None = None
    reuse = kept_alive(subject)
    for exchange in exchanges:
        if connection is None:
            connection = subject.connect()
        response = connection.request(exchange.request)
        if not reuse or (response.header("Connection") or "").lower() == "close":
            connection.socket.close()
            connection = None
        answer = normalised(exchange, response)
        same("answer", exchange.answer, answer, response)
        answers.append((exchange, answer))
    tell(event="fingerprint", value=fingerprint(answers), requests=len(answers))
