"""Unknown paths, wrong methods, faults of the server's own."""

import pytest

from conformance.contract.conftest import Start
from conformance.contract.test_parameters import check
from conformance.corpus import Exchange, corpus
from conformance.expect import TEXT, answer, holds, problem, same
from conformance.faults import catches
from conformance.http import Request
from conformance.needs import control, each_endpoint, serves
from conformance.subject import EXAMPLES, Controlled, Subject
from harness.processes import wait_until


@pytest.mark.parametrize(
    "exchange",
    [one for one in corpus(["text"]) if one.answer.status == 404],
    ids=lambda exchange: exchange.name,
)
@catches("html-404", "trailing-slash", "paths-any-case", "docs-page", "head-404-body")
def test_unknown_path(subject: Subject, exchange: Exchange) -> None:
    check(subject, exchange)


@pytest.mark.parametrize(
    "exchange",
    [
        pytest.param(one, marks=serves(one.part), id=one.name)
        for one in corpus()
        if one.answer.status == 405
    ],
)
@catches("method-ignored", "options-200", "no-allow", "allow-other", "plain-405")
def test_wrong_method(subject: Subject, exchange: Exchange) -> None:
    check(subject, exchange)


@each_endpoint
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
@catches("body-left-unread")
def test_body_of_a_refused_request_is_not_the_next_request(
    subject: Subject, target: str, chunked: bool
) -> None:
    body = b"GET /json HTTP/1.1\r\nHost: x\r\n\r\n"
    framing = (("Transfer-Encoding", "chunked"),) if chunked else ()
    request = Request(target, "POST", framing, body)
    with subject.connect() as connection:
        refused = connection.request(request)
        problem(refused, 405)
        if (refused.header("Connection") or "").lower() == "close":
            holds("the connection", "closed", connection.is_closed_within(2), "still open", refused)
            return
        following = connection.request(Request("/index"))
        answer(following, TEXT, b"Hello, World!")


@control
@serves("mongo", "agents", "gridfs")
@catches(
    "trace-to-client", "fault-503", "missing-document-500", "missing-revision-500", "fault-unlogged"
)
def test_databases_that_hold_nothing(start_another: Start, controlled: Controlled) -> None:
    """A document that is not there is 404; a query that cannot work is the server's own fault."""
    services = controlled.services
    empty = {
        "MONGODB_URL": services.mongodb_url.replace("/refservers", "/refservers_empty"),
        "DATABASE_URL": services.database_url.rsplit("/", 1)[0] + "/postgres",
    }
    with start_another(empty) as other:
        problem(other.ask("/mongo"), 404)
        problem(other.ask("/mongo?doc=big"), 404)
        problem(other.ask("/gridfs/photo.jpg"), 404)
        quiet = other.log.stat().st_size
        fault = other.ask("/agents")
        problem(fault, 500)
        wait_until(lambda: b"agentfeatures" in other.log.read_bytes()[quiet:], timeout=1)
        logged = other.log.read_bytes()[quiet:]
        holds("stderr", "the fault's trace", b"agentfeatures" in logged, logged[-300:], fault)


@pytest.mark.parametrize("path", ["/nothing", "/index/"])
@catches("error-closes")
def test_an_error_leaves_the_connection_open(subject: Subject, path: str) -> None:
    with subject.connect() as connection:
        refused = connection.request(Request(path))
        if (refused.header("Connection") or "").lower() != "close":
            answer(connection.request(Request("/index")), TEXT, b"Hello, World!")
            return
        first = subject.ask(EXAMPLES["text"])
        same("Connection", first.header("Connection"), refused.header("Connection"), refused)
