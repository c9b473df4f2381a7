"""Temporary folders of one run; those that a crash leaves behind are removed later."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from harness.paths import RUN
from harness.system.locks import is_locked, locked

_LOCK = RUN / "locks" / "scratch"
_held: set[Path] = set()


@contextmanager
def scratch(purpose: str) -> Iterator[Path]:
    """A new folder below ``.run/PURPOSE``, removed at the end of the block."""
    place = RUN / purpose
    place.mkdir(parents=True, exist_ok=True)
    remove_abandoned()
    with ExitStack() as held:
        with locked(_LOCK):
            folder = Path(tempfile.mkdtemp(prefix="run-", dir=place))
            held.enter_context(locked(folder / ".lock"))
        _held.add(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            _held.discard(folder)


def remove_scratch() -> None:
    """Remove every folder that this process still holds."""
    for folder in list(_held):
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned() -> None:
    """Remove the folders of all runs that a crash ended."""
    with locked(_LOCK):
        for folder in RUN.glob("*/run-*"):
            with suppress(FileNotFoundError):  # its run has just removed it
                if not is_locked(folder / ".lock"):
                    shutil.rmtree(folder, ignore_errors=True)
