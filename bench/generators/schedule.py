"""h2load's log, read against the schedule of a constant rate.

A connection sends its next request when it is due, or once the last response has arrived, whichever
is later. h2load logs when a request was sent; a response time that counts from when it was due
shows what a stall delayed (Gil Tene, "How NOT to Measure Latency"). The log does not name the
connection of a request, but all have the same interval, so that their schedules follow from it.

h2load's timers are those of libev on epoll(7), whole milliseconds, so that a free connection sends
its request up to one late. That is h2load's delay, not the server's: no response time holds it.
"""

import heapq
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]

_TICK = 1_000  # Microseconds of h2load's timers


def follow(starts: Times, took: Times, clients: int, interval: float) -> tuple[Times, Times]:
    """When each request was due, and how late a free connection sent it.

    ``starts``, in order, and ``took`` are those of all requests; each of the ``clients`` has a
    request due every ``interval``. All times have the same unit.
    """
    waiting: list[tuple[float, float]] = []  # of each connection, when free to send, and when due
    due, late = np.empty(len(starts)), np.empty(len(starts))
    for at, (start, seconds) in enumerate(zip(starts.tolist(), took.tolist(), strict=True)):
        is_new = len(waiting) < clients and not (waiting and waiting[0][0] <= start)
        free, due[at] = (start, start) if is_new else heapq.heappop(waiting)
        late[at] = max(start - free, 0)
        following = float(due[at]) + interval
        heapq.heappush(waiting, (max(following, start + seconds), following))
    return np.minimum(due, starts), late


def at_once(starts: Times, took: Times, count: int, period: float) -> tuple[Times, Times]:
    """The same of requests that each open a connection, ``count`` in each ``period``.

    A connection that the server accepts late is the server's fault, and so no lag.
    """
    due = starts[0] + period * (np.arange(len(starts)) // count)
    return np.minimum(due, starts), np.zeros(len(took))


def reschedule(
    log: Path,
    due_at: Callable[[Times, Times], tuple[Times, Times]],
    judged: tuple[float, float] = (0.0, np.inf),
) -> float | None:
    """Rewrite a log so that requests start when they were due, by one of the functions above.

    Returns the 99th percentile, in milliseconds, of how late free connections sent them, between
    the ``judged`` seconds. What of that is within a tick of h2load's timers is taken from the
    response times.
    """
    if not log.stat().st_size:
        return None
    rows = np.loadtxt(log, np.int64, ndmin=2)
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    starts, took = rows[:, 0].astype(float), rows[:, 2].astype(float)
    due, late = due_at(starts, took)
    sendable = (due + np.minimum(late, _TICK)).astype(np.int64)
    rows[:, 2] += rows[:, 0] - sendable
    rows[:, 0] = sendable
    np.savetxt(log, rows, "%d")
    since = (starts - starts[0]) / 1e6
    lags = late[(since >= judged[0]) & (since < judged[1])]
    return float(np.percentile(lags, 99)) / 1000 if len(lags) else None
