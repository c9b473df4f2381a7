"""Where the databases' programs and data are."""

import os
import re
import stat
from pathlib import Path

from harness.errors import UsageError
from harness.paths import ROOT, RUN, TOOLS


def places(name: str) -> tuple[Path, Path]:
    """Folders for a database's program and data that its user can access.

    Root runs databases as another user, who may have no access to root's folders. initdb gives its
    path to a shell, between double quotes.
    """
    is_open = os.geteuid() or all(one.stat().st_mode & 0o001 for one in (ROOT, *ROOT.parents))
    if is_open and not re.search(r'[$`"\\]', str(ROOT)):
        return TOOLS / name, RUN / name
    home = separate() / name
    return home / "program", home


def separate() -> Path:
    """A folder outside of the checkout, for it alone."""
    return Path("/var/tmp") / f"refservers-{ROOT.stat().st_ino}"  # noqa: S108


def make_separate(folder: Path) -> None:
    """Create a database's folder in :func:`separate`."""
    if folder.parent == separate():
        own_folder(separate())
        own_folder(folder)


def own_folder(path: Path) -> None:
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
                "or set MONGODB_URL and DATABASE_URL to servers of your own"
            ) from None
