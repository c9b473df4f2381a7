"""Ports and addresses."""

import http.client
import itertools
import random
import socket
import time

from harness.errors import UsageError

# Ports below the ephemeral ones (ip_local_port_range starts at 32768)
_LISTENERS = range(20_000, 32_000)

# Random start, so that two processes rarely get the same port
_offsets = itertools.count(random.randrange(len(_LISTENERS)))

_ATTEMPTS = 6

# UDP sockets on the ports given out last, so that no other process of ours is given one of them: a
# server takes seconds to listen on its port
_reserved: list[socket.socket] = []
_MOST_RESERVED = 100


def free_port() -> int:
    """An unused TCP port of 127.0.0.1 that this function has given to no process lately."""
    while True:
        port = _LISTENERS[next(_offsets) % len(_LISTENERS)]
        reserved = socket.socket(type=socket.SOCK_DGRAM)
        try:
            reserved.bind(("127.0.0.1", port))
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            reserved.close()
            continue
        _reserved.append(reserved)
        if len(_reserved) > _MOST_RESERVED:
            _reserved.pop(0).close()
        return port


def require_free(host: str, port: int) -> None:
    """Refuse a port that is still taken after a moment, or an address of another machine.

    A process that another thread starts holds the sockets of this one until it runs its program.
    """
    for attempt in range(_ATTEMPTS, 0, -1):
        try:
            return _try_to_bind(host, port)
        except (socket.gaierror, UnicodeError) as error:  # the latter from IDNA
            raise UsageError(f"HOST: {host} is no address of this machine") from error
        except OSError as error:
            if attempt == 1:
                raise UsageError(
                    f"cannot listen on {host}:{port}: {(error.strerror or str(error)).lower()}; "
                    "set PORT (and HOST) to a free one"
                ) from error
            time.sleep(0.1)


def is_free(port: int) -> bool:
    """Whether a port of 127.0.0.1 is free."""
    try:
        _try_to_bind("127.0.0.1", port)
    except OSError:
        return False
    return True


def _try_to_bind(host: str, port: int) -> None:
    """Bind as a server does: connections in TIME_WAIT do not prevent it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))


def http_url(host: str, port: int) -> str:
    """The URL of a server, without a trailing slash."""
    return f"http://{in_brackets(host)}:{port}"


def in_brackets(host: str) -> str:
    """A host as it stands before a port: an IPv6 address in brackets (RFC 3986, section 3.2.2)."""
    return f"[{host}]" if ":" in host else host


def accepts(host: str, port: int) -> bool:
    """Whether something accepts connections there."""
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def answers(host: str, port: int, path: str = "/index", start: bytes | None = None) -> bool:
    """Whether ``path`` gets any HTTP response there.

    With ``start``, it has to be a 200 whose body starts with these bytes.
    """
    connection = http.client.HTTPConnection(host, port, timeout=2)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        if start is None:
            return True
        return response.status == 200 and response.read(len(start)) == start
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
