"""/mongo: documents to the byte, read at each request."""

import pytest

import spec
from conformance.expect import JSON, Mismatch, answer
from conformance.faults import catches
from conformance.needs import control, serves
from conformance.subject import Controlled, Subject

pytestmark = serves("mongo")


@pytest.mark.parametrize("slug", ["small", "big"])
@catches("json-escaped", "members-sorted", "id-extended", "long-extended", "article-without-id")
def test_article(subject: Subject, slug: str) -> None:
    answer(subject.ask(f"/mongo?doc={slug}"), JSON, spec.json_body(spec.article(slug)))


@catches("default-big")
def test_small_is_the_default(subject: Subject) -> None:
    answer(subject.ask("/mongo"), JSON, spec.json_body(spec.article("small")))


@control
@catches("cached-article")
def test_each_request_reads_the_database(controlled: Controlled) -> None:
    requests = 10
    controlled.ask("/mongo?doc=big")
    before = controlled.mongodb.received
    for _ in range(requests):
        response = controlled.ask("/mongo?doc=big")
    read = controlled.mongodb.received - before
    least = requests * len(response.body) // 2
    if read < least:
        expected = f"at least {least} bytes from MongoDB for {requests} requests"
        raise Mismatch("caching", expected, f"{read} bytes", response)
