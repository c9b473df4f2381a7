"""Checks that a server reads its database for each request, by the bytes that it receives."""

from conformance.expect import Mismatch
from conformance.proxy import Proxy
from conformance.subject import Controlled

_REQUESTS = 10


def reads_each_time(controlled: Controlled, target: str, database: Proxy, least: int) -> None:
    """Fail unless each request for ``target`` brings ``least`` bytes from the database."""
    controlled.ask(target)
    before = database.received
    for _ in range(_REQUESTS):
        response = controlled.ask(target)
    read = database.received - before
    if read < _REQUESTS * least:
        expected = f"at least {_REQUESTS * least} bytes from the database for {_REQUESTS} requests"
        raise Mismatch("caching", expected, f"{read} bytes", response)
