"""A look at the connections of a running program, by ss(8).

h2load neither says which of its connections have broken nor how long its unanswered requests have
been waiting.
"""

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.records.measurement import Clients

_FIELDS = re.compile(
    r"timer:\(on,[^,]*,(?P<retries>\d+)\)|ino:(?P<inode>\d+)|lastsnd:(?P<sent>\d+)"
    r"|bytes_received:(?P<received>\d+)"
)
PATIENCE = 5.0  # Seconds after which a client without an answer counts as starved


@dataclass
class Connections:
    """The connections of a program at one time."""

    at: float  # On the monotonic clock
    sockets: int = 0
    # For each established one, the seconds since it sent something
    waiting: list[float] = field(default_factory=list)
    received: list[int] = field(default_factory=list)  # The bytes that it got
    # For each other one, the least seconds since its first attempt
    connecting: list[float] = field(default_factory=list)

    def unanswered(self, until: float, timeout: float) -> int:
        """The requests that will be older than the timeout at a time, unless answered before."""
        return sum(age + until - self.at > timeout for age in self.waiting)

    def unconnected(self, until: float, timeout: float) -> int:
        """The connections that will have been in the making for longer than the timeout."""
        return sum(age + until - self.at > timeout for age in self.connecting)

    def clients(self, count: int, until: float, bodies: int | None) -> Clients:
        """How ``count`` clients, who have got ``bodies`` bytes of bodies, were served."""
        starved = self.unanswered(until, PATIENCE) + self.unconnected(until, PATIENCE)
        total, squares = sum(self.received), sum(size**2 for size in self.received)
        fairness = total**2 / (count * squares) if squares else None
        if total < (bodies or 0) / 2:
            fairness = None  # connections were replaced, with what they had got
        return Clients(count=count, starved=starved, fairness=fairness)


def connections(pid: int, port: int, most: int) -> Connections:
    """The connections of a program to a port; raises OSError if the system does not tell.

    The sockets are counted only if there are fewer than ``most``.
    """
    found = Connections(time.monotonic(), most)
    own = {int(link[8:-1]) for link in _links(os.getpid()) if link.startswith("socket:")}
    states = ("state", "established", "state", "syn-sent")
    command = ["ss", "-HOtnoie", *states, "dport", "=", f":{port}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(done.stderr)
    for line in done.stdout.splitlines():
        values = {one.lastgroup: int(one[one.lastgroup or 0]) for one in _FIELDS.finditer(line)}
        if values.get("inode") in own:
            continue
        if line.startswith("ESTAB"):
            found.waiting.append(values.get("sent", 0) / 1000)
            found.received.append(values.get("received", 0))
        else:
            found.connecting.append(2.0 ** values.get("retries", 0) - 1)
    if len(found.waiting) + len(found.connecting) < most:
        # Some may just be replaced: their file descriptors are there all the time.
        found.sockets = sum(link.startswith("socket:") for link in _links(pid))
    return found


def _links(pid: int) -> Iterator[str]:
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            yield str(link.readlink())
