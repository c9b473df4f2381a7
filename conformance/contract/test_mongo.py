"""/mongo: documents to the byte, read for each request."""

import pytest

import spec
from conformance.expect import reads_each_time, right
from conformance.marks import catches, control, serves
from conformance.subject import Controlled, Subject

pytestmark = serves("mongo")


@pytest.mark.parametrize("slug", ["small", "big"])
@catches("json-escaped", "members-sorted", "id-extended", "long-extended", "article-without-id")
def test_article(subject: Subject, slug: str) -> None:
    right(subject.ask(f"/mongo?doc={slug}"))


@catches("default-big")
def test_small_is_the_default(subject: Subject) -> None:
    right(subject.ask("/mongo"))


@control
@catches("cached-article")
def test_each_request_reads_the_database(controlled: Controlled) -> None:
    least = len(spec.json_body(spec.article("big"))) // 2
    reads_each_time(controlled, "/mongo?doc=big", controlled.mongodb, least)
