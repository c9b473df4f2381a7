"""The cores that the server, the data sources and the load generator run on."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.measuring.process_tree import Tree
from harness.errors import UsageError

Cores = Mapping[str, Sequence[int]]  # The cores of each role; a role that is missing runs on all
# The roles: `database` includes the slow upstream, `load` this program, which observes the server
_FORM = re.compile(r"(server|database|load)=(\S+)")
_ENOUGH = 4  # The fewest cores of which each role has some to itself by default


def chosen(parts: Sequence[str], *, sources: bool, workers: int) -> dict[str, list[int]]:
    """The cores that ``--cpus`` sets, or the default; empty if nothing is pinned."""
    if not parts:
        return default(available(), sources=sources, workers=workers)
    return {} if list(parts) == ["none"] else parse(parts)


def parse(parts: Sequence[str]) -> dict[str, list[int]]:
    """``server=0-2`` and ``load=3``, with the cores as in taskset(1)."""
    found: dict[str, list[int]] = {}
    for part in parts:
        form = _FORM.fullmatch(part)
        if not form:
            raise UsageError(f"--cpus: {part!r} is not of the form server=0-2, or none")
        if form[1] in found:
            raise UsageError(f"--cpus: {form[1]} is set twice")
        found[form[1]] = _cores(form[2])
    return found


def _cores(text: str) -> list[int]:
    there, found = available(), set[int]()
    for part in text.split(","):
        ends = re.fullmatch(r"(\d+)(?:-(\d+))?", part, re.ASCII)
        if not ends:
            raise UsageError(f"--cpus: {text!r} is not a list of cores such as 0,2 or 0-3")
        first, last = int(ends[1]), int(ends[2] or ends[1])
        if first > last or not {first, last} <= set(there):
            raise UsageError(f"--cpus: {part}: this machine's cores are {as_text(there)}")
        found |= set(there) & set(range(first, last + 1))
    return sorted(found)


def default(cores: Sequence[int], *, sources: bool, workers: int = 1) -> dict[str, list[int]]:
    """A quarter for the load and, if they are used, one for the data sources; the server has the
    rest. Below 4 cores these two share the last one; if then the server's processes have no core
    each, nothing is pinned."""
    few = len(cores) < _ENOUGH
    if few and workers >= len(cores):
        return {}
    quarter = 1 if few else len(cores) // 4
    parts = {"load": cores[-quarter:]}
    rest = cores[:-quarter]
    if sources:
        parts["database"] = parts["load"] if few else rest[-quarter:]
        rest = rest if few else rest[:-quarter]
    return {role: sorted(own) for role, own in {"server": rest, **parts}.items()}


def available() -> list[int]:
    """The cores that this program may use, the threads of one physical core side by side."""
    return sorted(os.sched_getaffinity(0), key=lambda core: (_siblings(core), core))


def _siblings(core: int) -> int:
    """The first thread of the same physical core."""
    folder = Path(f"/sys/devices/system/cpu/cpu{core}/topology")
    with suppress(OSError, ValueError):
        return int(re.split("[,-]", (folder / "thread_siblings_list").read_text())[0])
    return core


def as_text(cores: Iterable[int]) -> str:
    """``0-2, 5``."""
    ranges: list[list[int]] = []
    for core in sorted(cores):
        if ranges and core == ranges[-1][-1] + 1:
            ranges[-1].append(core)
        else:
            ranges.append([core])
    return ", ".join(f"{one[0]}-{one[-1]}" if len(one) > 1 else f"{one[0]}" for one in ranges)


@contextmanager
def pinned(cores: Sequence[int] | None) -> Iterator[None]:
    """Run this thread, and all that it starts, on ``cores`` inside the block."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def confined(tree: Tree, cores: Sequence[int] | None) -> Iterator[None]:
    """Run other programs on ``cores`` inside the block, and where they ran before after it."""
    if not cores or not tree.roots:
        yield
        return
    before: dict[int, set[int]] = {}
    for one in tree.processes():
        with suppress(ProcessLookupError):  # a database's process for a connection that closed
            before[one.pid] = os.sched_getaffinity(one.pid)
    try:
        for pid in before:
            _move(pid, cores)
        yield
    finally:
        began_with = before.get(tree.roots[0].pid, cores)
        for one in tree.processes():
            _move(one.pid, before.get(one.pid, began_with))


def _move(pid: int, cores: Iterable[int]) -> None:
    """Move all threads of a process; those that it starts later follow."""
    with suppress(FileNotFoundError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            try:
                os.sched_setaffinity(int(task.name), cores)
            except ProcessLookupError:
                continue
            except PermissionError as error:
                raise UsageError(
                    f"process {pid} belongs to another user and cannot be pinned: "
                    "leave database out of --cpus"
                ) from error
