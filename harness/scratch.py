"""Temporary folders of one run; those that a crash leaves behind are removed later."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.locks import is_locked, locked
from harness.paths import RUN

_held: set[Path] = set()


@contextmanager
def scratch(purpose: str) -> Iterator[Path]:
    """A new folder below ``.run/PURPOSE``, removed at the end of the block."""
    place = RUN / purpose
    with _cleared(place):
        place.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=place))
        held = locked(folder / ".lock")
        held.__enter__()
    _held.add(folder)
    try:
        yield folder
    finally:
        held.__exit__(None, None, None)
        shutil.rmtree(folder, ignore_errors=True)
        _held.discard(folder)


def remove_scratch() -> None:
    """Remove every folder that this process still holds."""
    for folder in list(_held):
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned() -> None:
    """Remove the folders of all runs that a crash ended."""
    for place in {folder.parent for folder in RUN.glob("*/run-*")}:
        with _cleared(place):
            pass


@contextmanager
def _cleared(place: Path) -> Iterator[None]:
    """Hold a place's lock, without the folders that a crash left behind there."""
    with locked(RUN / "locks" / place.name):
        for old in place.glob("run-*"):
            if _is_abandoned(old):
                shutil.rmtree(old, ignore_errors=True)
        yield


def _is_abandoned(folder: Path) -> bool:
    try:
        return not is_locked(folder / ".lock")
    except FileNotFoundError:  # its run has just removed it
        return False
