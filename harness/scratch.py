"""Temporary folders of one run; a later run removes those that a crash left behind."""

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
    with locked(RUN / "locks" / purpose):
        for old in place.glob("run-*"):
            if _is_abandoned(old):
                shutil.rmtree(old, ignore_errors=True)
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


def _is_abandoned(folder: Path) -> bool:
    try:
        return not is_locked(folder / ".lock")
    except FileNotFoundError:  # its run has just removed it
        return False
