"""Connections and a timer for a load by Locust, which sends this file to its workers."""

# mypy: disable-error-code="import-not-found, import-untyped, misc, untyped-decorator"

import ctypes
import os
import resource
import socket
import struct
import sys
import time
from typing import Any

import gevent
from gevent.monkey import get_original
from geventhttpclient.response import HTTPResponseParser

_FILES = 64_000  # The most open files

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
            self._socket.settimeout(until(deadline))
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


def until(deadline: float) -> float:
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


def raise_file_limit() -> int:
    """Raise the limit of open files as far as allowed; return the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit
