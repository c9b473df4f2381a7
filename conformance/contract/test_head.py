"""HEAD, if served, has no body and leaves the connection usable."""

import pytest

from conformance.expect import right
from conformance.http import Request
from conformance.marks import catches, each_endpoint
from conformance.subject import Subject


@each_endpoint
@catches("head-body")
def test_head(subject: Subject, target: str) -> None:
    with subject.connect() as connection:
        head = connection.request(Request(target, "HEAD"))
        if not 200 <= head.status < 300:
            pytest.skip(f"HEAD is answered with {head.status}")
        if not subject.keeps(head):
            connection.require_end(head)
        else:
            right(connection.request(Request(target)))
