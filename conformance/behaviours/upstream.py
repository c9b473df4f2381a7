"""The group `upstream`: what reaches the slow upstream, and when calls to it end."""

import uuid

from conformance import upstream
from conformance.behaviours.lab import Lab, asks
from conformance.http import Request
from harness.system.processes import wait_until

_CALLS = 4


def _read(lab: Lab, name: str, *values: str) -> set[str]:
    """The ids with which the upstream is called, of these and their list; or ``refused``."""
    headers = tuple((name, value) for value in values)
    with lab.server.connect(lab.patience) as connection:
        if connection.request(Request("/slow_api?calls=1&ms=0", headers=headers)).status >= 400:
            return {"refused"}
    possible = {*values, ",".join(values), ", ".join(values)}
    return {id for id in possible if upstream.stats(lab.controlled, id)["calls"]}


@asks("client-leaves", "slow_api", control=True)
def client_leaves(lab: Lab) -> str:
    """The calls take longer than their end is waited for."""
    id = uuid.uuid4().hex

    def in_flight() -> int:
        return upstream.stats(lab.controlled, id)["in_flight"]

    request = Request(f"/slow_api?calls={_CALLS}&ms=5000", headers=(("X-Request-Id", id),))
    with lab.server.connect() as connection:
        connection.send(request.encode("x"))
        assert wait_until(lambda: in_flight() == _CALLS, timeout=lab.patience), "no calls"
    return "stopped" if wait_until(lambda: in_flight() == 0, timeout=2.5) else "go on"


@asks("underscored-header", "slow_api", control=True)
def underscored_header(lab: Lab) -> str:
    """Without the right header, so that none can take precedence."""
    read = _read(lab, "X_Request_Id", uuid.uuid4().hex)
    return "ignored" if not read else "refused" if "refused" in read else "taken"


@asks("repeated-header", "slow_api", control=True)
def repeated_header(lab: Lab) -> str:
    """Two values that no other request has."""
    first, last = uuid.uuid4().hex, uuid.uuid4().hex
    read = _read(lab, "X-Request-Id", first, last)
    named = {"refused": "refused", first: "the first", last: "the last"}
    return named.get(min(read), "joined") if read else "neither"
