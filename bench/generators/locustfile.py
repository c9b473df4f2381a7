"""A load for Locust: https://docs.locust.io

- Closed: each connection sends its next request after the response to the last.
- Connection rate: each connection has a scheduled start, sends some requests in turn, and closes.
- Constant rate: each request has a scheduled start. It is sent then, whatever became of earlier
  requests, and its response time counts from then: a server that stalls cannot slow down its own
  load (coordinated omission).

Locust has one user in each worker, who runs the worker's share in greenlets of its own and keeps
the exact times, which Locust rounds.

The load is a JSON file that the master reads and passes to its workers (``--load``); the result is
one line of JSON. Locust sends this file to workers on other machines, so they import nothing else
from the repository.
"""

# mypy: disable-error-code="import-not-found, import-untyped, misc, untyped-decorator"

import ctypes
import gc
import itertools
import json
import math
import os
import random
import resource
import socket
import struct
import sys
import time
import traceback
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import gevent
from gevent.monkey import get_original
from geventhttpclient.response import HTTPParseError, HTTPResponseParser
from locust import User, events, task
from locust.exception import StopUser
from locust.runners import MasterRunner, WorkerRunner

ERRORS = ("connect", "read", "timeout", "unfinished", "status", "short")
_SPARE_FILES = 100  # File descriptors kept free for anything but connections
_PAUSE = 0.1  # Seconds that a connection of the closed model waits after it was refused

Request = tuple[bytes, int | None]  # A request, and the length of the right body, if it is known

_poll, _READABLE = get_original("select", ["poll", "POLLIN"])


class ResponseParser(HTTPResponseParser):
    """A parser that only looks for the status, the body's length and the end of a response."""

    complete = False
    length = 0

    def _on_message_complete(self) -> None:
        self.complete = self.get_code() >= 200

    def _on_body(self, part: bytes) -> None:
        self.length += len(part)

    def _ignore(self, _: object = None) -> None: ...

    _on_message_begin = _on_status = _on_header_field = _on_header_value = _ignore
    _on_headers_complete = _ignore


class Connection:
    """A keep-alive connection, made when it is first used and again after it was closed."""

    def __init__(self, family: int, address: Any) -> None:
        self._server = family, address
        self._socket: Any = None
        self._poll: Any = None

    @property
    def is_open(self) -> bool:
        """Whether it is connected, as far as this side knows."""
        return self._socket is not None

    def open(self, timeout: float) -> None:
        """Connect, unless the server has neither closed it nor sent anything unexpected."""
        if self._socket and not self._poll.poll(0):
            return
        self.close()
        family, address = self._server
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(timeout)
            self._socket.connect(address)
        except BaseException:
            self.close()
            raise
        self._poll = _poll()
        self._poll.register(self._socket, _READABLE)

    def exchange(self, request: bytes, deadline: float) -> ResponseParser:
        """Send a request and receive the response."""
        self._socket.sendall(request)
        response = ResponseParser()
        while not response.complete:
            self._socket.settimeout(_until(deadline))
            part = self._socket.recv(65536)
            response.feed(part)
            if not part and not response.complete:
                raise ConnectionError
        return response

    def close(self) -> None:
        """Close it."""
        if self._socket:
            self._socket.close()
            self._socket = None


def _until(deadline: float) -> float:
    """The seconds left, as a timeout for a socket."""
    return max(deadline - time.monotonic(), 0.001)


class Timer:
    """Wakes a greenlet on time; gevent's own timers are up to a millisecond late."""

    def __init__(self) -> None:
        if sys.platform == "linux":
            self._libc = ctypes.CDLL(None, use_errno=True)
            self._fd = self._libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK)
            if self._fd < 0:
                raise OSError(ctypes.get_errno(), "timerfd_create")
            self._fires = gevent.get_hub().loop.io(self._fd, 1)

    def wait(self, until: float) -> None:
        """Let other greenlets run until ``until`` on the monotonic clock."""
        if sys.platform != "linux":
            gevent.sleep(max(until - time.monotonic(), 0))
            return
        absolute = 1
        seconds, fraction = divmod(until, 1)
        once = struct.pack("llll", 0, 0, int(seconds), max(int(fraction * 1e9), 1))
        self._libc.timerfd_settime(self._fd, absolute, once, None)
        gevent.get_hub().wait(self._fires)
        os.read(self._fd, 8)


class Share:
    """One worker's part of a load, and its results."""

    def __init__(self, load: dict[str, Any], index: int, workers: int) -> None:
        """Take the part of worker ``index`` (from 0) of ``workers``."""
        if not 0 <= index < workers:
            raise ValueError(f"worker {index + 1} connected, but only {workers} were expected")
        url = urlsplit(load["url"])
        found = socket.getaddrinfo(url.hostname, url.port or 80, type=socket.SOCK_STREAM)
        family, *_, address = found[0]
        self._connection = partial(Connection, family, address)
        self._load = load
        self._part_of: Callable[[int], range] = lambda count: range(index, count, workers)
        requests = list(_in_order(load, url.netloc, index, workers))
        self._pick: Callable[[], Request] = itertools.cycle(requests).__next__
        if load["random"]:
            self._pick = partial(random.Random(f"{load['seed']}/{index}").choice, requests)
        self._timeout: float = load["timeout"]
        self._files = _raise_file_limit() - _SPARE_FILES
        self._slots = min(load["in_flight"] // workers, self._files)
        self._idle: list[Connection] = []
        self._in_flight = 0  # Greenlets that have not ended
        self._began = self._last = 0.0
        self._until = math.inf  # Responses count until then
        self._good = array("I")
        self._lags = array("I")
        self._seconds: Counter[int] = Counter()
        self._errors = dict.fromkeys(ERRORS, 0)
        self._attempts = self._cut_off = self._received = self._due = 0

    def run(self) -> dict[str, Any]:
        """Put the load on the server, and wait for the last response."""
        models: dict[str, Callable[[], float]] = {
            "closed": self._closed,
            "connection rate": self._connection_rate,
            "constant rate": self._constant_rate,
        }
        used, began = time.process_time(), time.monotonic()
        self._began = self._last = began
        planned = models[self._load["model"]]()
        while self._in_flight:
            gevent.sleep(0.01)
        ended = time.monotonic()
        outcomes = len(self._good) + sum(self._errors.values()) + self._cut_off
        if outcomes != self._attempts:
            raise AssertionError("a request was not accounted for: see the worker's output")
        return {
            "seconds": max(min(self._last, self._until) - began, planned),
            "cpu": time.process_time() - used,
            "elapsed": ended - began,
            "attempts": self._attempts,
            "errors": self._errors,
            "received": self._received,
            "due": self._due,
            "per_second": [self._seconds[at] for at in range(max(self._seconds, default=-1) + 1)],
            "good": self._good.tobytes(),
            "lags": self._lags.tobytes(),
        }

    def _constant_rate(self) -> float:
        rate = self._load["level"]
        count = max(round(rate * self._load["duration"]), 1)
        self._on_schedule(count, rate, self._one_request)
        return float(count / rate)

    def _connection_rate(self) -> float:
        rate, duration = self._load["level"], self._load["duration"]
        self._on_schedule(max(round(rate * duration), 1), rate, self._short_connection)
        return float(duration)

    def _closed(self) -> float:
        duration, requests = self._load["duration"], self._load["requests"]
        turns: Iterator[int] = itertools.count()
        total = int(self._load["level"])
        if requests:
            turns = iter(self._part_of(requests))
            total = min(total, requests)
        else:
            self._until = self._began + duration
        connections = self._part_of(total)
        if len(connections) > self._files:
            raise OSError(f"{len(connections)} connections need more open files: raise `ulimit -n`")
        self._in_flight += len(connections)
        for _ in connections:
            gevent.spawn_raw(self._lasting_connection, turns)
        return duration or 0.0

    def _on_schedule(self, count: int, rate: float, start: Callable[[float], None]) -> None:
        """Call ``start`` at each scheduled time, in a greenlet of its own."""
        timer = Timer()
        full_until = now = self._began
        for number in self._part_of(count):
            scheduled = self._began + number / rate
            if scheduled > now:
                timer.wait(scheduled)
                now = time.monotonic()
            while self._in_flight >= self._slots:
                gevent.sleep(0.001)
                full_until = now = time.monotonic()
            self._in_flight += 1
            gevent.spawn_raw(self._start, start, scheduled, scheduled >= full_until)

    def _start(self, start: Callable[[float], None], scheduled: float, had_slot: bool) -> None:
        """Call ``start``.

        Without ``had_slot`` it waited for a free slot, which is the server's fault; its lag then
        says nothing about the generator.
        """
        if had_slot:
            self._lags.append(int((time.monotonic() - scheduled) * 1e6))
        try:
            start(scheduled)
        finally:
            self._in_flight -= 1

    def _one_request(self, scheduled: float) -> None:
        """Send a request, on the idle connection that was used last."""
        connection = self._idle.pop() if self._idle else self._connection()
        self._request(connection, scheduled)
        if connection.is_open:
            self._idle.append(connection)

    def _short_connection(self, _: float) -> None:
        """Send some requests in turn; once the connection fails, the others cannot be sent."""
        connection = self._connection()
        calls = self._load["calls"]
        for call in range(1, calls + 1):
            if self._request(connection, time.monotonic()) in ("connect", "read", "timeout"):
                self._attempts += calls - call
                self._errors["connect"] += calls - call
                break
        connection.close()

    def _lasting_connection(self, turns: Iterator[int]) -> None:
        """Send requests in turn until the load ends."""
        connection = self._connection()
        try:
            for _ in turns:
                now = time.monotonic()
                if now >= self._until:
                    break
                if self._request(connection, now) == "connect":
                    gevent.sleep(_PAUSE)
        finally:
            connection.close()
            self._in_flight -= 1

    def _request(self, connection: Connection, start: float) -> str:
        """Send a request, whose time counts from ``start``, and count its outcome."""
        self._attempts += 1
        request, due = self._pick()
        deadline = start + self._timeout
        keep, outcome = False, "connect"
        try:
            if time.monotonic() >= deadline:
                raise TimeoutError
            connection.open(_until(deadline))
            outcome = "read"
            response = connection.exchange(request, deadline)
            now = time.monotonic()
            if now > deadline:
                raise TimeoutError
            keep = response.should_keep_alive()
            outcome = "good" if response.get_code() == 200 else "status"
            if outcome == "good" and due not in (None, response.length):
                outcome = "short"
        except (OSError, HTTPParseError):
            now = time.monotonic()
            if now >= deadline:
                outcome = "timeout"
        finally:
            if not keep:
                connection.close()
        self._last = max(self._last, now)
        if now > self._until:  # it was in flight when the load ended
            if outcome == "timeout":
                self._errors["unfinished"] += 1
            else:
                self._cut_off += 1
            return outcome
        if outcome in ("good", "short"):
            self._received += response.length
            self._due += due or 0
        if outcome == "good":
            self._good.append(int((now - start) * 1e6))
            self._seconds[int(now - self._began)] += 1
        else:
            self._errors[outcome] += 1
        return outcome


def _in_order(load: dict[str, Any], host: str, index: int, workers: int) -> Iterator[Request]:
    """The requests that a worker repeats: every ``workers``-th, or, at random, all of them."""
    headers = load["headers"]
    if not any(name.lower() == "host" for name in headers):
        headers = {"Host": host} | headers
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    paths = load["paths"]
    sizes = load["sizes"] or [None] * len(paths)
    for at in range(len(paths)):
        chosen = at if load["random"] else (index + at * workers) % len(paths)
        yield f"GET {paths[chosen]} HTTP/1.1\r\n{head}\r\n".encode("latin-1"), sizes[chosen]


def _raise_file_limit() -> int:
    """Raise the limit of open files as far as allowed; return the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else sys.maxsize


class LoadUser(User):
    """The one user of a worker."""

    @task
    def load(self) -> None:
        """Run this worker's share, and send the results to the master."""
        runner, options = self.environment.runner, self.environment.parsed_options
        workers = options.expect_workers if isinstance(runner, WorkerRunner) else 1
        gc.freeze()
        try:
            part = Share(options.load, runner.worker_index, workers).run()
        except Exception:
            part = {"failure": traceback.format_exc()}
        runner.send_message("part", part)
        raise StopUser


class Result:
    """The results of the workers, merged by the master."""

    def __init__(self, runner: Any, workers: int) -> None:
        """Expect as many parts as there are ``workers``."""
        self._runner = runner
        self._workers = workers
        self._parts: list[dict[str, Any]] = []
        runner.register_message("part", self.add)

    def add(self, msg: Any, **_: Any) -> None:
        """Add the results of one worker; print the merged result after the last."""
        if "failure" in msg.data:
            self._fail(msg.data["failure"])
            return
        self._parts.append(msg.data)
        if len(self._parts) == self._workers:
            print(json.dumps(self._merged()), flush=True)
            gevent.spawn(self._runner.quit)

    def watch(self) -> None:
        """Fail when a worker is lost."""
        while len(self._parts) < self._workers:
            if self._runner.worker_count < self._workers:
                self._fail("a worker was lost")
                return
            gevent.sleep(1)

    def _fail(self, why: str) -> None:
        print(why, file=sys.stderr, flush=True)
        self._runner.environment.process_exit_code = 1
        gevent.spawn(self._runner.quit)

    def _merged(self) -> dict[str, Any]:
        # Imported only on the master: workers on other machines have just this file.
        from bench.records.histogram import Histogram

        good, lags = Histogram(), Histogram()
        for part in self._parts:
            good.add(array("I", part["good"]))
            lags.add(array("I", part["lags"]))
        errors = {kind: sum(part["errors"][kind] for part in self._parts) for kind in ERRORS}
        latency, lag = good.latency(sum(errors.values())), lags.latency(0)
        seconds = max(part["seconds"] for part in self._parts)
        answered: Counter[int] = Counter()
        for part in self._parts:
            answered.update(dict(enumerate(part["per_second"])))
        return {
            "requests": len(good),
            "attempts": int(self._sum("attempts")),
            "seconds": seconds,
            "per_second": [answered[at] for at in range(int(seconds))],
            "errors": errors,
            "unfinished": errors["unfinished"],
            "received": int(self._sum("received")),
            "due": int(self._sum("due")),
            "latency": latency.model_dump() if latency else None,
            "histogram": good.encoded(),
            "lag": lag.model_dump() if lag else None,
            "cpu": self._sum("cpu"),
            "busiest": max(part["cpu"] / part["elapsed"] for part in self._parts),
        }

    def _sum(self, name: str) -> float:
        return sum(float(part[name]) for part in self._parts)


@events.init_command_line_parser.add_listener
def _add_arguments(parser: Any) -> None:
    parser.add_argument("--load", help="JSON file with the load (master only)")


@events.init.add_listener
def _prepare(environment: Any, runner: Any, **_: Any) -> None:
    if isinstance(runner, WorkerRunner):
        return
    options = environment.parsed_options
    options.load = json.loads(Path(options.load).read_text(encoding="utf-8"))
    if isinstance(runner, MasterRunner):
        result = Result(runner, options.expect_workers)
        events.test_start.add_listener(lambda **_: gevent.spawn(result.watch))
    else:
        Result(runner, 1)
