"""Reads the CPU time and memory of the server on a port, on the server's machine.

``ssh HOST python3 -c SCRIPT PORT`` runs it, so it needs only Linux and Python 3.9. It prints a line
of JSON about the machine, and then one about the server for each line of input, until that ends.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LISTEN = "0A"
"""The state of a socket in proc_net_tcp(5)."""
_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def _pids() -> Iterator[int]:
    return (int(path.name) for path in _PROC.iterdir() if path.name.isdigit())


def _stat(pid: int) -> list[str]:
    """The fields of proc_pid_stat(5) from the third on: the second may contain spaces."""
    return (_PROC / f"{pid}" / "stat").read_text().rpartition(")")[2].split()


def _sockets(port: int) -> set[str]:
    """The sockets that listen on a port, as links in /proc/PID/fd name them."""
    found = set()
    for table in (_PROC / "net" / "tcp", _PROC / "net" / "tcp6"):
        for line in _lines(table)[1:] if table.exists() else ():
            fields = line.split()
            if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(f"socket:[{fields[9]}]")
    return found


def _files(pid: int) -> Iterator[str]:
    """What the file descriptors of a process are; nothing if that is secret."""
    try:
        for path in (_PROC / f"{pid}" / "fd").iterdir():
            yield str(path.readlink())
    except OSError:
        return


def _parents() -> dict[int, int]:
    parents = {}
    for pid in _pids():
        try:
            parents[pid] = int(_stat(pid)[1])
        except OSError:
            continue
    return parents


def _pss(pid: int) -> int | None:
    """Bytes of memory; 0 if the process has just ended, None if its memory is secret."""
    try:
        lines = _lines(_PROC / f"{pid}" / "smaps_rollup")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    except OSError:
        return None
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _busy() -> float:
    """Seconds of CPU time that the whole machine has used (proc_stat(5))."""
    fields = list(map(int, _lines(_PROC / "stat")[0].split()[1:9]))
    idle, iowait = fields[3:5]
    return (sum(fields) - idle - iowait) / _TICKS


def _machine() -> dict[str, Any]:
    models = [line for line in _lines(_PROC / "cpuinfo") if line.startswith("model name")]
    release = Path("/etc/os-release")
    names = [line for line in (_lines(release) if release.exists() else ()) if "PRETTY_" in line]
    return {
        "system": names[0].partition("=")[2].strip('"') if names else platform.system(),
        "kernel": platform.release(),
        "cpu": models[0].partition(":")[2].strip() if models else "unknown",
        "cores": len(os.sched_getaffinity(0)),
        "memory": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
    }


class Server:
    """The processes that listen on a port, and their child processes."""

    def __init__(self, port: int) -> None:
        """Find them."""
        sockets = _sockets(port)
        if not sockets:
            raise LookupError(f"no process listens on port {port}")
        listening = {pid for pid in _pids() if not sockets.isdisjoint(_files(pid))}
        if not listening:
            raise LookupError(f"port {port} belongs to another user: log in as that user or root")
        parents = _parents()
        self._roots = {pid for pid in listening if parents.get(pid) not in listening}

    def read(self) -> dict[str, Any]:
        """CPU seconds, bytes of memory (None if unknown), processes and threads."""
        parents = _parents()
        tree = {pid for pid in self._roots if pid in parents}
        roots = sorted(tree)
        while more := {pid for pid, parent in parents.items() if parent in tree} - tree:
            tree |= more
        ticks = threads = 0
        memory: int | None = 0
        for pid in tree:
            try:
                fields = _stat(pid)
            except OSError:
                continue
            ticks += sum(map(int, fields[11:15]))
            threads += int(fields[17])
            own = _pss(pid)
            memory = None if memory is None or own is None else memory + own
        return {
            "roots": roots,
            "cpu": ticks / _TICKS,
            "memory": memory,
            "processes": len(tree),
            "threads": threads,
            "busy": _busy(),
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
