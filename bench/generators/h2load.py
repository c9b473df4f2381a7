"""h2load over HTTP/1.1: a number of requests, or connections at a rate.

https://nghttp2.org/documentation/h2load.1.html
"""

import math
import re
from pathlib import Path

from bench.generators.order import Ended, Order, Outcome, OutOfOrder, percentiles, run
from bench.result import Errors

_PERIODS = 100
"""Times a second, at most, that connections are opened."""


def generate(order: Order) -> Outcome:
    """Send a number of requests, and take the time of each from the log."""
    log = order.folder / "h2load.tsv"
    log.unlink(missing_ok=True)
    paths = order.folder / "paths.txt"
    if order.model == "connection rate":
        assert order.duration is not None
        connections = round(order.level * order.duration)
        requests = connections * order.calls
        rate = _rate(int(order.level))
    else:
        assert order.requests is not None
        requests = order.requests
        connections = min(int(order.level), requests)
        rate = []
    asked = [order.paths[i % len(order.paths)] for i in range(min(requests, len(order.paths)))]
    paths.write_text("".join(f"{order.url}{path}\n" for path in asked))
    timeout = f"{math.ceil(order.timeout) + 1}s"
    command = [
        *("h2load", "--h1", "--requests", str(requests), "--clients", str(connections)),
        *("--threads", str(min(order.threads, connections)), *rate),
        *("--connection-inactivity-timeout", timeout),
        *(part for name, value in order.headers.items() for part in ("-H", f"{name}: {value}")),
        *("--log-file", str(log), "--input-file", str(paths)),
    ]
    return _outcome(order, command, run(command, order), log, requests)


def _rate(a_second: int) -> list[str]:
    """The rate in periods as short as whole numbers of connections and milliseconds allow."""
    common = math.gcd(a_second, 1000)
    periods = max(n for n in range(1, _PERIODS + 1) if common % n == 0)
    return ["--rate", str(a_second // periods), "--rate-period", f"{1000 // periods}ms"]


def _outcome(order: Order, command: list[str], ended: Ended, log: Path, requests: int) -> Outcome:
    """Of the log's columns: when it was sent (µs since the epoch), status, and µs until the end."""
    good: list[float] = []
    status = late = 0
    first, last = math.inf, 0
    for line in log.read_text().splitlines():
        began, code, took = map(int, line.split("\t")[:3])
        first, last = min(first, began), max(last, began + took)
        if code < 0:
            continue
        if code != 200:
            status += 1
        elif took > order.timeout * 1e6:
            late += 1
        else:
            good.append(took / 1000)
    told = re.search(r"requests: .* (\d+) started, (\d+) done, .* (\d+) timeout", ended.output)
    if told is None:
        raise OutOfOrder(f"h2load told nothing:\n{ended.output[-800:]}")
    started, done, timeouts = map(int, told.groups())
    errors = Errors(
        connect=requests - started,
        read=max(started - done - timeouts, 0),
        timeout=timeouts + late,
        status=status,
    )
    seconds = (last - first) / 1e6 if last else ended.seconds
    latency = percentiles(sorted(good))
    return Outcome(
        command, len(good), seconds, latency, errors, ended.cpu, ended.output, ended.observer
    )
