"""Writes files atomically."""

import errno
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Replace ``path`` atomically: after a crash, too, it has the old text or the new one."""
    try:
        with drafted({path: text.encode()}) as drafts:
            drafts[path].replace(path)
    except OSError as error:
        error.filename = str(path)
        raise


def prepare_file(path: Path) -> None:
    """Create the parent folder of a file to write; refuses a path that is a folder."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)


@contextmanager
def drafted(files: Mapping[Path, bytes]) -> Iterator[dict[Path, Path]]:
    """Complete drafts beside files, by file; those that do not replace it are removed."""
    drafts: dict[Path, Path] = {}
    try:
        for path, content in files.items():
            drafts[path] = _draft(path, content)
        yield drafts
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


def _draft(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(draft).chmod(stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    return Path(draft)
