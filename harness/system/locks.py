"""Locks between tasks (flock(2)); the kernel releases them when their holder dies."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from harness.console import say

_PATIENCE = 2.0  # Seconds of waiting before a task says so


@contextmanager
def locked(path: Path) -> Iterator[IO[str]]:
    """Hold a lock on ``path``, waiting until it is free; yields the locked file."""
    file = claim(path, patience=_PATIENCE)
    if not file:
        say(f"waiting for another task, which holds {path}")
        file = path.open("a")
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def claim(path: Path, *, shared: bool = False, patience: float = 0.0) -> IO[str] | None:
    """Lock ``path``; None if it is taken for longer. Closing the file releases the lock."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a")
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if time.monotonic() >= deadline:
                file.close()
                return None
            time.sleep(0.02)


def is_locked(path: Path) -> bool:
    """Whether a process holds an exclusive lock on ``path``."""
    file = claim(path, shared=True)
    if file is None:
        return True
    file.close()
    return False
