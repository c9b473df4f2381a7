"""Locks between tasks (flock(2)); the kernel releases them when their holder dies."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from harness.console import say

_PATIENCE = 2.0
"""Seconds of waiting before a task says so."""


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[IO[str]]:
    """Hold a lock on ``path``, waiting until it is free; yields the locked file."""
    deadline = time.monotonic() + _PATIENCE
    while not (file := claim(path, shared=shared)) and time.monotonic() < deadline:
        time.sleep(0.02)
    if not file:
        say(f"waiting for another task, which holds {path}")
        file = path.open("a")
    with file:
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield file


def claim(path: Path, *, shared: bool = False) -> IO[str] | None:
    """Lock ``path`` without waiting; None if it is taken. Closing the file releases the lock."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a")
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def is_locked(path: Path) -> bool:
    """Whether a process holds an exclusive lock on ``path``."""
    file = claim(path, shared=True)
    if file is None:
        return True
    file.close()
    return False
