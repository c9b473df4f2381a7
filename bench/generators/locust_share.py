"""One worker's share of a load by Locust, which sends this file to its workers.

- Closed: each connection sends its next request after the response to the last.
- Connection rate: each connection has a scheduled start, sends some requests in turn, and closes.
- Constant rate: each request has a scheduled start. It is sent then, whatever became of earlier
  requests, and its response time counts from then: a server that stalls cannot slow down its own
  load (coordinated omission).
"""

# mypy: disable-error-code="import-not-found, import-untyped, misc, untyped-decorator"

import itertools
import math
import random
import socket
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import gevent
from geventhttpclient.response import HTTPParseError
from locust_connection import Connection, Timer, raise_file_limit, until

ERRORS = ("connect", "read", "timeout", "unfinished", "status", "short")
_SPARE_FILES = 100  # File descriptors kept free for anything but connections
_PAUSE = 0.1  # Seconds that a connection of the closed model waits after it was refused

Request = tuple[bytes, int | None]  # A request, and the length of the right body, if it is known


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
        self._files = raise_file_limit() - _SPARE_FILES
        self._slots = min(load["in_flight"] // workers, self._files)
        self._idle: list[Connection] = []
        self._in_flight = 0  # Greenlets that have not ended
        self._began = self._last = 0.0
        self._until = math.inf  # Responses count until then
        self._good = array("I")
        self._lags = array("I")
        self._windows: Counter[int] = Counter()
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
            "windows": dict(self._windows),
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
            connection.open(until(deadline))
            outcome = "read"
            response = connection.exchange(request, deadline)
            now = time.monotonic()
            if now > deadline:
                raise TimeoutError
            keep = response.should_keep_alive()
            outcome = "good" if response.get_code() in self._load["statuses"] else "status"
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
            self._windows[int((now - self._began) * self._load["windows"])] += 1
        else:
            self._errors[outcome] += 1
        return outcome


def _in_order(load: dict[str, Any], host: str, index: int, workers: int) -> Iterator[Request]:
    """The requests that a worker repeats: every ``workers``-th, or, at random, all of them."""
    headers, body = load["headers"], load["body"].encode()
    if body:
        headers = headers | {"Content-Type": "application/json", "Content-Length": len(body)}
    method = "POST" if body else "GET"
    if not any(name.lower() == "host" for name in headers):
        headers = {"Host": host} | headers
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    paths = load["paths"]
    sizes = load["sizes"] or [None] * len(paths)
    for at in range(len(paths)):
        chosen = at if load["random"] else (index + at * workers) % len(paths)
        request = f"{method} {paths[chosen]} HTTP/1.1\r\n{head}\r\n".encode("latin-1")
        yield request + body, sizes[chosen]
