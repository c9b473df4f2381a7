"""/agents: rows to the byte, read at each request over pooled connections."""

import spec
from conformance.caching import reads_each_time
from conformance.expect import JSON, Mismatch, answer
from conformance.faults import catches
from conformance.needs import control, serves
from conformance.subject import Controlled, Subject

pytestmark = serves("agents")


@catches("agents-inner-join", "agents-unordered", "agents-empty-string", "agents-number")
def test_agents(subject: Subject) -> None:
    answer(subject.ask("/agents"), JSON, spec.json_body(spec.agents()))


@control
@catches("cached-agents")
def test_each_request_reads_the_database(controlled: Controlled) -> None:
    least = len(spec.agents()) * len("300offline-10")
    reads_each_time(controlled, "/agents", controlled.postgresql, least)


@control
@catches("agents-connect", "agents-pool-claimed-none")
def test_connections_come_from_a_pool(controlled: Controlled) -> None:
    """Both ways: a deployment that says that it connects for each request is shown to."""
    requests = 20
    controlled.ask("/agents")
    before = controlled.postgresql.connections
    for _ in range(requests):
        response = controlled.ask("/agents")
    made = controlled.postgresql.connections - before
    pooled = controlled.deployment.sql_pool
    if (made < requests) != pooled:
        expected = "fewer connections than requests" if pooled else "a connection for each request"
        raise Mismatch("pool", expected, f"{made} connections for {requests} requests", response)
