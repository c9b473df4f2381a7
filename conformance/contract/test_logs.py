"""What a server writes: the cause of each 5xx, no line of a client's, and no access log."""

import uuid

import pytest

from conformance.expect import problem, right
from conformance.marks import catches, control, serves
from conformance.subject import Controlled
from harness.system.processes import wait_until

pytestmark = control

CALLS = 50


@serves("text")
@catches("access-log")
def test_no_access_log(controlled: Controlled) -> None:
    start = controlled.log.stat().st_size
    for _ in range(10):
        right(controlled.ask("/index"))
        controlled.ask("/nothing-here")
    written = controlled.written(start)
    lines = [line for line in written.splitlines() if "/index" in line or "/nothing" in line]
    assert not lines, f"expected no line for a request, got {lines[0]!r}"


def _logged(server: Controlled, start: int) -> str:
    """What is logged of a request, which may come after its response."""
    wait_until(lambda: server.log.stat().st_size > start, timeout=5)
    return server.written(start)


@serves("agents", "slow_api")
@pytest.mark.parametrize(
    ("target", "status"), [("/agents", 500), (f"/slow_api?calls={CALLS}&ms=0", 502)]
)
@catches("fault-unlogged", "logs-each-call")
def test_the_cause_of_an_error(lacking: Controlled, target: str, status: int) -> None:
    """The tables do not exist; the upstream refuses connections, which is logged once."""
    start = lacking.log.stat().st_size
    problem(lacking.ask(target), status)
    written = _logged(lacking, start).strip()
    assert written, f"{target}: nothing is logged of a {status}"
    lines = len(written.splitlines())
    once = status == 500 or lines < 2 * CALLS
    assert once, f"{lines} lines for a request whose {CALLS} calls fail"


@serves("gridfs", "mongo")
@catches("log-forged", "fault-unlogged")
def test_a_client_adds_no_line(controlled: Controlled) -> None:
    """A line break in the path of a request that fails (CWE-117)."""
    forged = f"CRITICAL forged {uuid.uuid4().hex}"
    start = controlled.log.stat().st_size
    with controlled.mongodb.in_state("refusing"):
        problem(controlled.ask(f"/gridfs/a%0A{forged.replace(' ', '%20')}%0D%1B%5B2J"), 503)
        written = _logged(controlled, start)
    wait_until(lambda: controlled.ask("/mongo").status == 200, timeout=10)
    assert written.strip(), "nothing is logged of a 503"
    lines = [line for line in written.splitlines() if line.startswith(forged)]
    assert not lines, f"a line of the client's: {lines[0]!r}"
    assert "\x1b" not in written, "a terminal's control characters are logged as they came"
