"""Locks between tasks (flock(2)), which the kernel lets go when their holder dies."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[IO[str]]:
    """Hold a lock on ``path``, waiting until it is free; gives the file that holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield file


def claim(path: Path, *, shared: bool = False) -> IO[str] | None:
    """The file that holds a lock on ``path`` until it is closed; None if others have it now."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a")
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def is_locked(path: Path) -> bool:
    """Whether somebody holds ``path`` alone."""
    file = claim(path, shared=True)
    if file is None:
        return True
    file.close()
    return False
