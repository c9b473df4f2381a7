"""A constant request rate, for Locust: https://docs.locust.io

Each request has a scheduled start. It is sent then, whatever became of earlier requests, and its
response time counts from then: a server that stalls cannot slow down its own load (coordinated
omission). Locust's users would wait for their responses; so each worker has one user, which sends
every request from its own greenlet and keeps the exact times, which Locust rounds.

The load is a JSON file that the master reads and passes to its workers (``--load``); the result is
one line of JSON. Locust sends this file to workers on other machines, so it imports nothing else
from the repository.
"""

# mypy: disable-error-code="import-not-found, import-untyped, misc, untyped-decorator"

import ctypes
import gc
import itertools
import json
import os
import random
import resource
import socket
import struct
import sys
import time
import traceback
from array import array
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

IN_FLIGHT = 10_000
"""The most unanswered requests, over all workers; further requests wait for a free slot."""
PERCENTILES = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}
_SPARE_FILES = 100
"""File descriptors kept free for anything but connections."""


_poll, _READABLE = get_original("select", ["poll", "POLLIN"])


class Connection:
    """A keep-alive connection."""

    def __init__(self, family: int, address: Any, timeout: float) -> None:
        """Connect within ``timeout`` seconds."""
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        try:
            self.socket.settimeout(timeout)
            self.socket.connect(address)
        except BaseException:
            self.socket.close()
            raise
        self._poll = _poll()
        self._poll.register(self.socket, _READABLE)

    def is_quiet(self) -> bool:
        """Whether the server has neither closed it nor sent anything unexpected."""
        return not self._poll.poll(0)


class ResponseParser(HTTPResponseParser):
    """A parser that only looks for the status and the end of a response."""

    complete = False

    def _on_message_complete(self) -> None:
        self.complete = self.get_code() >= 200

    def _ignore(self, _: object = None) -> None: ...

    _on_message_begin = _on_status = _on_header_field = _on_header_value = _ignore
    _on_headers_complete = _on_body = _ignore


class Timer:
    """Wakes a greenlet on time; gevent's own timers are up to a millisecond late."""

    def __init__(self) -> None:
        """Create a kernel timer."""
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
        self._server = family, address
        self._requests = list(_in_order(load, url.netloc, index, workers))
        self._random: bool = load["random"]
        self._rate: float = load["rate"]
        self._numbers = range(index, max(round(self._rate * load["duration"]), 1), workers)
        self._timeout: float = load["timeout"]
        self._slots = min(IN_FLIGHT // workers, _raise_file_limit() - _SPARE_FILES)
        self._in_flight = 0
        self._idle: list[Connection] = []
        self._last = 0.0
        self._good = array("I")
        self._lags = array("I")
        self._errors = dict.fromkeys(("connect", "read", "timeout", "status"), 0)

    def run(self) -> dict[str, Any]:
        """Send every request at its scheduled start, and wait for the last response."""
        used, began = time.process_time(), time.monotonic()
        self._send_all(began)
        while self._in_flight:
            gevent.sleep(0.01)
        ended = time.monotonic()
        if len(self._good) + sum(self._errors.values()) != len(self._numbers):
            raise AssertionError("a request was not accounted for: see the worker's output")
        return {
            "seconds": max(self._last - began, self._numbers.stop / self._rate),
            "cpu": time.process_time() - used,
            "elapsed": ended - began,
            "errors": self._errors,
            "good": self._good.tobytes(),
            "lags": self._lags.tobytes(),
        }

    def _send_all(self, began: float) -> None:
        """The hot path, together with :meth:`_request`."""
        timer = Timer()
        requests = self._requests
        pick: Callable[[], bytes] = itertools.cycle(requests).__next__
        if self._random:
            pick = partial(random.choice, requests)
        full_until = began
        now = time.monotonic()
        for number in self._numbers:
            scheduled = began + number / self._rate
            if scheduled > now:
                timer.wait(scheduled)
                now = time.monotonic()
            while self._in_flight >= self._slots:
                gevent.sleep(0.001)
                full_until = now = time.monotonic()
            self._in_flight += 1
            gevent.spawn_raw(self._request, pick(), scheduled, scheduled >= full_until)

    def _request(self, request: bytes, scheduled: float, had_slot: bool) -> None:
        """Send a request, and count its result.

        Without ``had_slot`` it waited for a free slot, which is the server's fault; its lag then
        says nothing about the generator.
        """
        deadline = scheduled + self._timeout
        kind, connection = "connect", None
        now = time.monotonic()
        if had_slot:
            self._lags.append(int((now - scheduled) * 1e6))
        try:
            if now >= deadline:
                raise TimeoutError
            connection = self._take() or Connection(*self._server, deadline - now)
            kind = "read"
            sock = connection.socket
            sock.sendall(request)
            response = ResponseParser()
            while not response.complete:
                sock.settimeout(max(deadline - time.monotonic(), 0.001))
                part = sock.recv(65536)
                response.feed(part)
                if not part and not response.complete:
                    raise ConnectionError
            now = time.monotonic()
            if now > deadline:
                raise TimeoutError
            if response.get_code() == 200:
                self._good.append(int((now - scheduled) * 1e6))
            else:
                self._errors["status"] += 1
            if response.should_keep_alive():
                self._idle.append(connection)
                connection = None
        except (OSError, HTTPParseError):
            now = time.monotonic()
            self._errors["timeout" if now >= deadline else kind] += 1
        finally:
            if connection is not None:
                connection.socket.close()
            self._last = max(self._last, now)
            self._in_flight -= 1

    def _take(self) -> Connection | None:
        """The most recently used idle connection that the server has not closed."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_quiet():
                return connection
            connection.socket.close()
        return None


def _in_order(load: dict[str, Any], host: str, index: int, workers: int) -> Iterator[bytes]:
    """The requests that a worker repeats: every ``workers``-th, or, at random, all of them."""
    headers = load["headers"]
    if not any(name.lower() == "host" for name in headers):
        headers = {"Host": host} | headers
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    paths = load["paths"]
    for at in range(len(paths)):
        path = paths[at if load["random"] else (index + at * workers) % len(paths)]
        yield f"GET {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1")


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
        good = _sorted(part["good"] for part in self._parts)
        return {
            "requests": len(good),
            "seconds": max(part["seconds"] for part in self._parts),
            "errors": {
                kind: sum(part["errors"][kind] for part in self._parts)
                for kind in self._parts[0]["errors"]
            },
            "latency": _percentiles(good),
            "lag": _percentiles(_sorted(part["lags"] for part in self._parts)),
            "cpu": sum(part["cpu"] for part in self._parts),
            "busiest": max(part["cpu"] / part["elapsed"] for part in self._parts),
        }


def _sorted(parts: Iterator[bytes]) -> list[int]:
    return sorted(itertools.chain.from_iterable(array("I", part) for part in parts))


def _percentiles(microseconds: list[int]) -> dict[str, float] | None:
    """Milliseconds."""
    # Imported only on the master: workers on other machines have just this file.
    from bench.percentiles import nearest_rank

    if not microseconds:
        return None
    named = {name: nearest_rank(microseconds, share) / 1000 for name, share in PERCENTILES.items()}
    return named | {"max": microseconds[-1] / 1000}


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
