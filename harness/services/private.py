"""Files and folders that other users of the machine cannot read or replace."""

import os
import secrets
import stat
from pathlib import Path

from harness.errors import TaskError, UsageError


def write_private(path: Path, text: str) -> None:
    """Replace ``path`` atomically with a file that only its owner can read."""
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    draft.replace(path)


def new_password() -> str:
    """A random password that needs no quoting in a URL."""
    return secrets.token_hex(16)


def require_password(path: Path, data: Path) -> None:
    """Refuse data without the password that was made with it; it is not deleted by itself."""
    if not path.is_file():
        raise TaskError(f"{data} needs its password, {path}, which is missing")


def own_folder(path: Path) -> Path:
    """Create a folder in a world-writable place, or reuse ours from an earlier task.

    Its name can be guessed: another user's folder or link is refused.
    """
    try:
        path.mkdir(mode=0o700)
        path.chmod(0o711)
    except FileExistsError:
        found = path.lstat()
        ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
        if not ours or found.st_mode & 0o022:
            raise UsageError(
                f"{path} is not a folder that only this user can write to; remove it, "
                "or set DATABASE_URL to a server of your own"
            ) from None
    return path
