"""Databases are read for each request, over pooled connections; a missing document is a 404."""

from typing import Any

import pymongo
import pytest
from pymongo.errors import OperationFailure

import spec
from conformance.expect import holds, problem
from conformance.marks import catches, control, serves
from conformance.subject import Controlled

pytestmark = control

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
    requests = 10
    database = controlled.postgresql if target == "/agents" else controlled.mongodb
    controlled.ask(target)
    before = database.received
    for _ in range(requests):
        response = controlled.ask(target)
    read, least = database.received - before, requests * LEAST[target]
    expected = f"at least {least} bytes from the database for {requests} requests"
    holds("caching", expected, read >= least, f"{read} bytes", response)


@serves("agents")
@catches("agents-connect")
def test_connections_come_from_a_pool(controlled: Controlled) -> None:
    """Both ways: a deployment that declares a connection per request opens one for each."""
    requests = 20
    pooled = controlled.deployment.sql_pool
    controlled.ask("/agents")
    before = controlled.postgresql.connections
    for _ in range(requests):
        response = controlled.ask("/agents")
    made = controlled.postgresql.connections - before
    # A pool may open its connections at first, or with the first request of each thread.
    expected = "at most 10 new connections" if pooled else "a connection for each request"
    got = f"{made} connections for {requests} requests"
    holds("pool", expected, (made <= requests // 2) == pooled, got, response)


@serves("mongo", "gridfs")
@catches("missing-document-500")
def test_a_missing_document(lacking: Controlled) -> None:
    with pymongo.MongoClient[Any](lacking.environment["MONGODB_URL"]) as client:
        try:
            client.get_default_database().articles.find_one()
        except OperationFailure as error:
            pytest.skip(f"the user of MONGODB_URL may not read another database: {error}")
    for target in ("/mongo", "/mongo?doc=big", "/gridfs/photo.jpg"):
        problem(lacking.ask(target), 404)


@serves("agents")
@catches("trace-to-client", "fault-503", "fault-html")
def test_a_query_that_cannot_work(lacking: Controlled) -> None:
    """The tables do not exist: a 500 without details."""
    problem(lacking.ask("/agents"), 500)
