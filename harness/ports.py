"""Loopback ports."""

import contextlib
import itertools
import random
import socket

from harness.errors import UsageError

_LISTENERS = range(20_000, 32_000)
"""Ports below those that the kernel gives to clients (ip_local_port_range begins at 32768)."""

_offsets = itertools.count(random.SystemRandom().randrange(len(_LISTENERS)))
"""From a random start, so that two processes are unlikely to be given the same port. Not seeded:
Hypothesis seeds ``random`` alike in every process."""


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nothing uses, and that this process was not given lately."""
    while True:
        port = _LISTENERS[next(_offsets) % len(_LISTENERS)]
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def require_free(host: str, port: int) -> None:
    """Refuse a port that is taken, or an address that is not this machine's."""
    try:
        _try_to_bind(host, port)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}:{port}: {(error.strerror or str(error)).lower()}; "
            "set PORT (and HOST) to one that is free"
        ) from error


def is_free(port: int) -> bool:
    """Whether nothing listens on a port of 127.0.0.1."""
    try:
        _try_to_bind("127.0.0.1", port)
    except OSError:
        return False
    return True


def _try_to_bind(host: str, port: int) -> None:
    """Bind as a server does: connections that have just ended are no hindrance."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))


def accepts(host: str, port: int) -> bool:
    """Whether something accepts connections there."""
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True
