"""/agents: rows are read over pooled connections."""

from conformance.expect import Mismatch
from conformance.marks import catches, control, serves
from conformance.subject import Controlled

pytestmark = serves("agents")


@control
@catches("agents-connect", "agents-pool-claimed-none")
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
    if (made > requests // 2) == pooled:
        expected = "at most 10 new connections" if pooled else "a connection for each request"
        raise Mismatch("pool", expected, f"{made} connections for {requests} requests", response)
