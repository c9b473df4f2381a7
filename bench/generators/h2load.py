"""h2load over HTTP/1.1: the closed model, connections at a rate, and a constant rate of requests.

Each connection requests the paths in the same order, from the first.

https://nghttp2.org/documentation/h2load.1.html
"""

import math
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from bench.generators.connections import Connections, connections
from bench.generators.h2load_log import Log
from bench.generators.h2load_result import FinishedLoad, Totals
from bench.generators.interface import MOST_CLIENTS, LoadResult, LoadSpec
from bench.generators.program import run
from bench.generators.schedule import at_once, follow, reschedule
from bench.records.measurement import Errors
from bench.records.warning import Warning

_LOOKS = (3, 1)
_LOOK = 0.25
# Seconds before the end, with those for each connection, when the connections are inspected: a
# multiple of them, as the machine is busy. The last time before the end counts.
_LOOK_EACH = 100e-6
_NEAR = 1.0  # Seconds before the end in which a request that waits is taken to go on waiting
# Seconds after the end until h2load is stopped. Before 1.64 it goes on if the server closes
# connections: a client that connects at the end never stops, and the log is complete by then
# (https://github.com/nghttp2/nghttp2/issues/2250)
_TEARDOWN = 2.0
_PRECISE = 0.01  # The relative error of the rate at which connections are opened


def generate(spec: LoadSpec) -> LoadResult:
    """Put a load on a server; the log has the response time of each request."""
    if spec.random:
        spec = _shuffled(spec)
    if spec.load.model == "constant rate":
        return _scheduled(spec)
    if spec.load.model == "closed" and spec.load.requests is None:
        return _timed(spec)
    return _counted(spec)


def _shuffled(spec: LoadSpec) -> LoadSpec:
    order = random.Random(spec.seed).sample(range(len(spec.paths)), len(spec.paths))
    sizes = [spec.sizes[at] for at in order] if spec.sizes else ()
    return replace(spec, paths=[spec.paths[at] for at in order], sizes=sizes)


def _timed(spec: LoadSpec) -> LoadResult:
    """The closed model for a duration, at whose end h2load drops what is in flight."""
    assert spec.duration is not None
    clients = int(spec.level)
    command = _command(spec, clients, ["--duration", f"{spec.duration * 1000:.0f}ms"])
    end = time.monotonic() + spec.duration
    seen: list[Connections] = []
    used: list[float] = []  # CPU seconds at the end of the load

    def look(pid: int) -> None:
        if time.monotonic() >= end:
            with suppress(psutil.NoSuchProcess):
                used.append(sum(psutil.Process(pid).cpu_times()[:2]))
            return
        with suppress(OSError):
            for _ in range(2):  # a client that is just connecting again has no socket
                found = connections(pid, urlsplit(spec.url).port or 80, clients)
                if time.monotonic() < end:
                    seen.append(found)
                if found.sockets >= clients:
                    break

    before = _LOOK + clients * _LOOK_EACH
    looks = [*(spec.duration - times * before for times in _LOOKS), spec.duration]
    finished = run(command, spec, looks, look, lambda: time.monotonic() > end + _TEARDOWN)
    if finished.was_stopped and used:
        finished = replace(finished, cpu=used[0])
    last = seen[-1] if seen else None
    log = Log(_log(spec), spec.load.timeout, spec.statuses)
    if finished.was_stopped:
        totals = Totals(started=log.ended + (len(last.waiting) if last else 0), done=log.ended)
    else:
        totals = Totals.of(finished)
    load = FinishedLoad(spec, command, clients, finished, totals, log)
    errors, warnings = _unended(load, last, end)
    served = last.clients(clients, end, totals.received) if last else None
    return load.result(errors, _seconds(load, errors), clients, warnings, served)


def _unended(
    load: FinishedLoad, last: Connections | None, end: float
) -> tuple[Errors, list[Warning]]:
    """All failures, by the state of the connections shortly before the end, and reasons to doubt.

    A request that is in flight at the end has failed only if it is older than the timeout.
    """
    spec, totals = load.spec, load.totals
    assert spec.duration is not None
    in_flight = max(totals.started - totals.done, 0)
    errors = Errors(timeout=load.log.late, status=load.log.refused)
    if last is None:
        errors.unfinished = in_flight
        return errors, [Warning.of("uninspected", count=in_flight)]
    warnings = []
    until = end if end - last.at < _NEAR else last.at
    lost = max(load.clients - last.sockets, 0)
    errors.read = min(max(in_flight - len(last.waiting), 0), lost)
    errors.connect = lost - errors.read + last.unconnected(until, spec.load.timeout)
    errors.unfinished = min(last.unanswered(until, spec.load.timeout), in_flight - errors.read)
    if lost:
        warnings.append(Warning.of("connections-lost", count=lost, clients=load.clients))
    waiting = last.unanswered(until, spec.duration / 2)
    if waiting > errors.unfinished:
        warnings.append(Warning.of("ended-early", count=waiting, timeout=spec.load.timeout))
    return errors, warnings


def _seconds(load: FinishedLoad, errors: Errors) -> float:
    """The time until the last response, unless the load ended later than the next was due.

    With the whole duration, slow responses would count too little: those in flight are dropped.
    """
    assert load.spec.duration is not None
    latency = load.log.good.latency(errors.total)
    longest = latency.max if latency else None
    until_last = load.log.seconds
    if longest is not None and until_last + longest / 1000 >= load.spec.duration:
        return min(until_last, load.spec.duration)
    return load.spec.duration


def _counted(spec: LoadSpec) -> LoadResult:
    """A number of requests; connections on which nothing happens are given up."""
    opening: list[str] = []
    if spec.load.model == "connection rate":
        assert spec.duration is not None
        clients = round(spec.level * spec.duration)
        requests = clients * spec.load.calls
        opening = _opened(*_opening(spec.level))
    else:
        assert spec.load.requests is not None
        requests = spec.load.requests
        clients = min(int(spec.level), requests)
    command = _command(spec, clients, [*_requests(spec, requests), *opening])
    finished = run(command, spec)
    totals, log = Totals.of(finished), Log(_log(spec), spec.load.timeout, spec.statuses)
    unended = max(totals.started - totals.done, 0)
    errors = Errors(
        connect=requests - totals.started,
        read=max(unended - totals.timeouts, 0),
        timeout=log.late,
        unfinished=totals.timeouts,
        status=log.refused,
    )
    load = FinishedLoad(spec, command, clients, finished, totals, log)
    return load.result(errors, log.seconds or finished.seconds, unended, [])


def _scheduled(spec: LoadSpec) -> LoadResult:
    """A constant rate. Each connection has a schedule of its own: a request per second, or more.

    A server that closes each connection gets a new one for each request, opened when it is due.

    What has not been answered by the end and the timeout has failed; h2load is stopped then. It
    does not reopen a connection that breaks: requests that were still due on it have failed, too.
    """
    duration = spec.duration
    assert duration is not None
    spec = spec.but(threads=1)
    requests = max(round(spec.level * duration), 1)
    count, period = _opening(spec.level)
    clients, schedule = requests, []
    if spec.keep_alive:
        clients = min(math.ceil(spec.level), requests, MOST_CLIENTS)
        if spec.most_calls:
            clients = max(clients, math.ceil(requests / spec.most_calls))
        if spec.opening:
            count, period = _opening(clients / (spec.opening / 2))
        schedule = ["--rps", f"{spec.level / clients:.6f}"]
    length = [*_requests(spec, requests), *schedule, *_opened(count, period)]
    command = _command(spec, clients, length)
    end = time.monotonic() + duration + spec.opening + spec.load.timeout
    finished = run(command, spec, hangs=lambda: time.monotonic() > end)
    due = partial(at_once, count=count, period=period * 1e3)
    if spec.keep_alive:
        due = partial(follow, clients=clients, interval=clients / spec.level * 1e6)
    judged = (spec.opening, duration if spec.opening else math.inf)
    lag = reschedule(_log(spec), due, judged)
    log = Log(_log(spec), spec.load.timeout, spec.statuses, judged)
    if finished.was_stopped:
        totals = Totals(started=requests, done=log.ended)
    else:
        totals = Totals.of(finished)
    broken = log.ended - len(log.good) - log.late - log.refused
    errors = Errors(
        connect=requests - totals.started, read=broken, timeout=log.late, status=log.refused
    )
    errors.unfinished = requests - len(log.good) - errors.total
    lost = Warning.of("connections-lost", count=broken, clients=clients)
    load = FinishedLoad(spec, command, clients, finished, totals, log)
    seconds = max(log.seconds, duration)  # without the wait for what is never answered
    result = load.result(errors, seconds, clients, [lost] if broken else [])
    return replace(result, lag=lag, busiest=finished.cpu / seconds, attempts=requests)


def _command(spec: LoadSpec, clients: int, length: Sequence[str]) -> list[str]:
    paths = spec.folder / "paths.txt"
    paths.write_text("".join(f"{spec.url}{path}\n" for path in spec.paths))
    _log(spec).unlink(missing_ok=True)
    headers, body = spec.headers, spec.folder / "body.json"
    if spec.body:
        body.write_text(spec.body, encoding="utf-8")
        headers = headers | {"Content-Type": "application/json"}
    return [
        *("h2load", "--h1", "--clients", str(clients), *length),
        *("--threads", str(min(spec.load.threads, clients))),
        *(part for name, value in headers.items() for part in ("-H", f"{name}: {value}")),
        *(("--data", str(body)) if spec.body else ()),
        *("--log-file", str(_log(spec)), "--input-file", str(paths)),
    ]


def _requests(spec: LoadSpec, count: int) -> list[str]:
    """So many requests, without waiting for ever on a connection."""
    patience = f"{math.ceil(spec.load.timeout) + 1}s"
    return ["--requests", str(count), "--connection-inactivity-timeout", patience]


def _log(spec: LoadSpec) -> Path:
    return spec.folder / "h2load.tsv"


def _opened(count: int, period: int) -> list[str]:
    return ["--rate", str(count), "--rate-period", f"{period}ms"]


def _opening(per_second: float) -> tuple[int, int]:
    """How many connections are opened in a period of how many milliseconds: evenly, as fast as
    they send requests but for a small error."""

    def count(period: int) -> int:
        return max(round(per_second * period / 1000), 1)

    def error(period: int) -> float:
        return abs(count(period) * 1000 / period / per_second - 1)

    period = next((one for one in range(1, 1000) if error(one) <= _PRECISE), 1000)
    return count(period), period
