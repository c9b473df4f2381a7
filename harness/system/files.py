"""Writes files atomically."""

import os
import stat
import tempfile
from pathlib import Path


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Replace ``path`` atomically: after a crash, too, it has the old content or the new one.

    Only its owner can read a ``private`` file.
    """
    draft = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new")
        draft = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        draft.chmod(0o600 if private else mode)
        draft.replace(path)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        if draft:
            draft.unlink(missing_ok=True)
