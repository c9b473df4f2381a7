"""Reads the CPU time and memory of the server on a port, on the server's machine.

``ssh HOST python3 -c SCRIPT PORT`` runs it, so it needs only Python 3.7 and Linux. It prints a line
of JSON with the machine, and then one for each line of input, until its input ends.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator
from typing import Any

_LISTEN = "0A"
_TICKS = os.sysconf("SC_CLK_TCK")


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _stat(pid: int) -> list[str]:
    """The fields of proc_pid_stat(5) from the third on: the second may contain spaces."""
    return _text("/proc/%d/stat" % pid).rpartition(")")[2].split()


def _sockets(port: int) -> set[str]:
    """The sockets that listen on a port, as their file descriptors' links name them."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if os.path.exists(table):
            for line in _text(table).splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add("socket:[%s]" % fields[9])
    return found


def _holds(pid: int, sockets: set[str]) -> bool:
    folder = "/proc/%d/fd" % pid
    try:
        for name in os.listdir(folder):
            try:
                if os.readlink(os.path.join(folder, name)) in sockets:
                    return True
            except OSError:
                continue
    except OSError:
        pass
    return False


class Server:
    """The processes that listen on a port, and their child processes."""

    def __init__(self, port: int) -> None:
        """Find them."""
        sockets = _sockets(port)
        if not sockets:
            raise LookupError("no process listens on port %d" % port)
        listening = {pid for pid in _pids() if _holds(pid, sockets)}
        if not listening:
            raise LookupError("port %d belongs to another user: log in as root" % port)
        parents = self._parents()
        self._roots = {pid for pid in listening if parents.get(pid) not in listening}

    @staticmethod
    def _parents() -> dict[int, int]:
        parents = {}
        for pid in _pids():
            try:
                parents[pid] = int(_stat(pid)[1])
            except OSError:
                continue
        return parents

    def _tree(self) -> set[int]:
        parents = self._parents()
        tree = {pid for pid in self._roots if pid in parents}
        while True:
            more = {pid for pid, parent in parents.items() if parent in tree} - tree
            if not more:
                return tree
            tree |= more

    def read(self) -> dict[str, Any]:
        """Its CPU time in seconds, memory in bytes, processes and threads; None if unknown."""
        ticks = threads = 0
        pss: int | None = 0
        tree = self._tree()
        for pid in tree:
            try:
                fields = _stat(pid)
            except OSError:
                continue
            ticks += sum(map(int, fields[11:15]))
            threads += int(fields[17])
            own = _pss(pid)
            pss = None if pss is None or own is None else pss + own
        return {
            "roots": sorted(self._roots & tree),
            "cpu": ticks / _TICKS,
            "pss": pss,
            "processes": len(tree),
            "threads": threads,
            "busy": _busy(),
        }


def _pss(pid: int) -> int | None:
    """Bytes of memory; 0 if the process has just ended."""
    try:
        lines = _text("/proc/%d/smaps_rollup" % pid).splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    except OSError:
        return None
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _busy() -> float:
    """Seconds of CPU time that the whole machine has used (proc_stat(5))."""
    fields = list(map(int, _text("/proc/stat").splitlines()[0].split()[1:9]))
    idle, iowait = fields[3:5]
    return (sum(fields) - idle - iowait) / _TICKS


def _machine() -> dict[str, Any]:
    cpus = [line for line in _text("/proc/cpuinfo").splitlines() if line.startswith("model name")]
    names = [line for line in _text("/etc/os-release").splitlines() if "PRETTY_NAME=" in line]
    return {
        "system": names[0].partition("=")[2].strip('"') if names else platform.system(),
        "kernel": platform.release(),
        "cpu": cpus[0].partition(":")[2].strip() if cpus else "unknown",
        "cores": len(os.sched_getaffinity(0)),
        "memory": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
    }


def main(port: int) -> None:
    """Answer each line of input."""
    try:
        server = Server(port)
        print(json.dumps(_machine()), flush=True)
        for _ in sys.stdin:
            print(json.dumps(server.read()), flush=True)
    except LookupError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(int(sys.argv[1]))
