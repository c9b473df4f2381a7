"""An endpoint serves the methods that the contract names, and no others."""

import uuid

import pytest

import spec
from conformance.expect import holds, right
from conformance.http import Request
from conformance.marks import catches, control, each_endpoint, serves
from conformance.subject import Controlled, Subject

METHODS = ("POST", "PUT", "PATCH", "DELETE", "BREW")


@each_endpoint
@catches("any-method")
def test_another_method(subject: Subject, target: str) -> None:
    for method in METHODS:
        _is_refused(subject, target, method)


@serves("notes")
@catches("any-method")
def test_another_method_of_the_collection(subject: Subject) -> None:
    for method in ("GET", *METHODS[1:]):
        _is_refused(subject, "/notes", method)


def _is_refused(subject: Subject, target: str, method: str) -> None:
    response = subject.ask(Request(target, method))
    refused = not 200 <= response.status < 300
    holds("status", "no 2xx: the endpoint has no such method", refused, response.status, response)


@each_endpoint
@catches("head-body")
def test_head(subject: Subject, target: str) -> None:
    """If it is served, it has no body and leaves the connection usable."""
    with subject.connect() as connection:
        head = connection.request(Request(target, "HEAD"))
        if not 200 <= head.status < 300:
            pytest.skip(f"HEAD is answered with {head.status}")
        if not subject.keeps(head):
            connection.require_end(head)
        else:
            right(connection.request(Request(target)))


@control
@serves("slow_api")
@catches("method-runs")
def test_no_handler_runs(controlled: Controlled) -> None:
    """The upstream gets no call."""
    request_id = uuid.uuid4().hex
    target = spec.ENDPOINTS["slow_api"].example
    for method in METHODS:
        response = controlled.ask(Request(target, method, (("X-Request-Id", request_id),)))
    calls = controlled.upstream_calls(request_id)["calls"]
    holds("calls of the upstream", "0", calls == 0, calls, response)
