"""Databases are read for each request."""

import pytest

import spec
from conformance.expect import Mismatch
from conformance.marks import catches, control, serves
from conformance.subject import Controlled

pytestmark = control

REQUESTS = 10

# Targets, and less than the bytes that come from their database for each request
LEAST = {
    "/mongo?doc=big": len(spec.json_body(spec.article("big"))) // 2,
    "/gridfs/photo.jpg": len(spec.files()["photo.jpg"]),
    "/agents": len(spec.agents()) * len("300offline-10"),
}


@pytest.mark.parametrize(
    "target", [pytest.param(one, marks=serves(spec.part_of(one))) for one in LEAST]
)
@catches("cached-article", "gridfs-cached", "cached-agents")
def test_each_request_reads_the_database(controlled: Controlled, target: str) -> None:
    database = controlled.postgresql if target == "/agents" else controlled.mongodb
    controlled.ask(target)
    before = database.received
    for _ in range(REQUESTS):
        response = controlled.ask(target)
    read, least = database.received - before, REQUESTS * LEAST[target]
    if read < least:
        expected = f"at least {least} bytes from the database for {REQUESTS} requests"
        raise Mismatch("caching", expected, f"{read} bytes", response)
