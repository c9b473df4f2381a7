"""What programs use while they are measured: CPU time, and memory as PSS."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import psutil

_INTERVAL = 0.5
"""Seconds between two looks at the memory, at least."""
_SHARE = 0.01
"""The share of a core that these looks may take: many processes are looked at less often."""
_EVERY = 4
"""Looks for which a list of child processes is good."""


class Tree:
    """A program: its first processes, and all below them."""

    def __init__(self, *roots: psutil.Process) -> None:
        """Take ``roots`` for the first processes."""
        self.roots = roots
        self._looks = 0
        self._known: list[psutil.Process] = []

    def processes(self, *, fresh: bool = True) -> list[psutil.Process]:
        """All that are alive; or were, a moment ago, where that will do."""
        if fresh or self._looks % _EVERY == 0:
            found: list[psutil.Process] = []
            for root in self.roots:
                try:
                    found += [root, *root.children(recursive=True)]
                except psutil.NoSuchProcess:
                    continue
            self._known = found
        self._looks += 1
        return self._known

    def cpu(self) -> float:
        """Seconds of CPU time so far, of those too that have ended and were waited for."""
        seconds = 0.0
        for process in self.processes():
            try:
                used = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            seconds += used.user + used.system + used.children_user + used.children_system
        return seconds

    def pss(self, *, fresh: bool = True) -> int:
        """Bytes of memory, each process with its share of what it shares (proc(5), Pss)."""
        total = 0
        for process in self.processes(fresh=fresh):
            try:
                total += process.memory_full_info().pss
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return total


class Peak:
    """The most memory that was seen."""

    def __init__(self, tree: Tree) -> None:
        """Start from what there is now."""
        self.tree = tree
        self.bytes = tree.pss()
        self._over = threading.Event()

    @contextmanager
    def watched(self) -> Iterator["Peak"]:
        """Look a few times a second for the length of the block."""
        thread = threading.Thread(target=self._watch)
        thread.start()
        try:
            yield self
        finally:
            self._over.set()
            thread.join()

    def _watch(self) -> None:
        pause = _INTERVAL
        while not self._over.wait(pause):
            began = time.thread_time()
            self.bytes = max(self.bytes, self.tree.pss(fresh=False))
            pause = max(_INTERVAL, (time.thread_time() - began) / _SHARE)


def listening_at(urls: Iterable[str]) -> Tree:
    """The programs that listen on this machine at these addresses."""
    places = {urlsplit(url).port for url in urls if urlsplit(url).hostname in _HERE}
    pids = {
        connection.pid
        for connection in psutil.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
        and connection.laddr
        and connection.laddr.port in places
        and connection.pid
    }
    found = [psutil.Process(pid) for pid in pids]
    return Tree(*(one for one in found if not pids & {parent.pid for parent in one.parents()}))


_HERE = ("127.0.0.1", "localhost", "::1")


class Busy:
    """How much CPU time the whole machine used since this was made."""

    def __init__(self) -> None:
        """Start counting."""
        self._before, self._began = self._used(), time.monotonic()

    @staticmethod
    def _used() -> float:
        times = psutil.cpu_times()
        return sum(times) - times.idle - times.iowait - times.guest - times.guest_nice

    def seconds(self) -> tuple[float, float]:
        """CPU seconds used, and those that there were."""
        passed = time.monotonic() - self._began
        return self._used() - self._before, passed * (psutil.cpu_count() or 1)
