"""A look at the connections of a running program, from the kernel's socket diagnostics.

h2load neither says which of its connections have broken nor how long its unanswered requests have
been waiting. See sock_diag(7).
"""

import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_SOCK_DIAG, _BY_FAMILY, _DUMP = 4, 20, 0x301
_ERROR, _DONE = 2, 3
_INFO = 2
"""The attribute with a tcp_info."""
_RETRIES, _LAST_SENT = 2, 44
"""Offsets in tcp_info."""
_ESTABLISHED, _CONNECTING = 1, 2


@dataclass
class Connections:
    """The connections of a program at one time."""

    at: float
    """On the monotonic clock."""
    sockets: int = 0
    established: int = 0
    waiting: list[float] = field(default_factory=list)
    """For each established one, the seconds since it sent something."""
    connecting: list[float] = field(default_factory=list)
    """For each other one, the least seconds since its first attempt."""

    def unanswered(self, until: float, timeout: float) -> int:
        """The requests that will be older than the timeout at a time, unless answered before."""
        return sum(age + until - self.at > timeout for age in self.waiting)

    def unconnected(self, until: float, timeout: float) -> int:
        """The connections that will have been in the making for longer than the timeout."""
        return sum(age + until - self.at > timeout for age in self.connecting)


def connections(pid: int, port: int, most: int) -> Connections:
    """The connections of a program to a port; raises OSError if the system does not tell.

    The sockets are counted only if there are fewer than ``most``.
    """
    found = Connections(time.monotonic(), most)
    own = {_inode(link) for link in _links(os.getpid())}
    for family in (socket.AF_INET, socket.AF_INET6):
        for state, inode, info in _dump(family, port):
            if inode in own:
                continue
            if state == _ESTABLISHED:
                found.established += 1
                found.waiting.append(struct.unpack_from("=I", info, _LAST_SENT)[0] / 1000)
            else:
                found.connecting.append(2.0 ** info[_RETRIES] - 1)
    if found.established + len(found.connecting) < most:
        # Some may just be replaced: their file descriptors are there all the time.
        found.sockets = count_sockets(pid)
    return found


def count_sockets(pid: int) -> int:
    """The sockets of a program; one that is replaced in the meantime counts once."""
    return sum(link.startswith("socket:") for link in _links(pid))


def _links(pid: int) -> Iterator[str]:
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            yield str(link.readlink())


def _inode(link: str) -> int:
    return int(link[8:-1]) if link.startswith("socket:") else 0


def _dump(family: int, port: int) -> Iterator[tuple[int, int, bytes]]:
    """The state, inode and tcp_info of this machine's connections to a port (struct inet_diag)."""
    states = 1 << _ESTABLISHED | 1 << _CONNECTING
    query = struct.pack("=BBBxI", family, socket.IPPROTO_TCP, 1 << (_INFO - 1), states) + bytes(48)
    header = struct.pack("=IHHII", 16 + len(query), _BY_FAMILY, _DUMP, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.settimeout(1)
        kernel.send(header + query)
        while True:
            for kind, message in _messages(kernel.recv(1 << 16)):
                if kind == _DONE:
                    return
                if kind == _ERROR:
                    number = -struct.unpack_from("=i", message)[0]
                    raise OSError(number, os.strerror(number))
                state = message[1]
                (peer_port,) = struct.unpack_from("!H", message, 6)
                (inode,) = struct.unpack_from("=I", message, 68)
                info = dict(_attributes(message[72:])).get(_INFO, b"")
                if peer_port == port and len(info) > _LAST_SENT + 4:
                    yield state, inode, info


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The messages of a netlink datagram: kind and content."""
    while data:
        length, kind = struct.unpack_from("=IH", data)
        yield kind, data[16:length]
        data = data[(length + 3) & ~3 :]


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while data:
        length, kind = struct.unpack_from("=HH", data)
        yield kind, data[4:length]
        data = data[(length + 3) & ~3 :]
