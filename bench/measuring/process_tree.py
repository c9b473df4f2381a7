"""CPU time, memory (PSS), processes and threads of programs while they are measured."""

import threading
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import psutil

_INTERVAL = 0.5  # The least seconds between two memory samples
_SHARE = 0.01  # The share of a core that sampling may use: many processes are sampled less often
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Tree:
    """A program of this machine: its root processes and all their descendants."""

    def __init__(self, *roots: psutil.Process) -> None:
        self.roots = roots

    def processes(self) -> list[psutil.Process]:
        """The processes that are alive."""
        found: list[psutil.Process] = []
        for root in self.roots:
            with suppress(psutil.NoSuchProcess):
                found += [root, *root.children(recursive=True)]
        return found

    def cpu(self) -> float:
        """Seconds of CPU time so far, including child processes that have been reaped."""
        seconds = 0.0
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                seconds += sum(process.cpu_times()[:4])  # user and system, own and of children
        return seconds

    def pss(self) -> int:
        """Bytes of memory; shared pages are divided among their processes (proc(5), Pss)."""
        return _pss(self.processes())


class Peak:
    """The most memory, processes and threads of a program at once."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.bytes = self.processes = self.threads = 0
        self.look()
        self._over = threading.Event()

    def look(self) -> None:
        processes, threads = self.tree.processes(), []
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                threads.append(process.num_threads())
        self.bytes = max(self.bytes, _pss(processes))
        self.processes = max(self.processes, len(threads))
        self.threads = max(self.threads, sum(threads))

    @contextmanager
    def watched(self) -> Iterator["Peak"]:
        """Take samples inside the block, at most two a second."""
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
            self.look()
            pause = max(_INTERVAL, (time.thread_time() - began) / _SHARE)


def _pss(processes: Iterable[psutil.Process]) -> int:
    total = 0
    for process in processes:
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            total += process.memory_full_info().pss
    return total


def listening_at(urls: Iterable[str]) -> Tree:
    """The programs on this machine that listen on the ports of these URLs."""
    ports = {urlsplit(url).port for url in urls if urlsplit(url).hostname in LOOPBACK}
    pids = {
        connection.pid
        for connection in psutil.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
        and connection.laddr
        and connection.laddr.port in ports
        and connection.pid
    }
    # A socket that processes share is listed with one of them alone.
    found = {_first_to_listen(psutil.Process(pid), ports) for pid in pids}
    return Tree(*(one for one in found if not found & set(one.parents())))


def _first_to_listen(process: psutil.Process, ports: Collection[int | None]) -> psutil.Process:
    """The process, or the furthest of its parents that listens on the same ports."""
    while (parent := process.parent()) and _listens(parent, ports):
        process = parent
    return process


def _listens(process: psutil.Process, ports: Collection[int | None]) -> bool:
    with suppress(psutil.Error):
        own = [one for one in process.net_connections("tcp") if one.status == psutil.CONN_LISTEN]
        return any(one.laddr.port in ports for one in own)
    return False
