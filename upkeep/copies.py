"""Copies of a server to try a change on, and putting the change back all at once."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from harness.catalog import Server
from harness.errors import TaskError
from harness.sources import source_files
from harness.task import uninterrupted
from harness.writing import drafted


class Copy:
    """A copy of a server's source files, under the same name in another folder."""

    def __init__(self, server: Server, parent: Path) -> None:
        """Copy the server's files below ``parent``."""
        self.origin = server
        folder = parent / server.folder.name
        self.server = Server(server.name, folder, server.manifest)
        self._copied: dict[Path, bytes] = {}
        for source in _sources(server.folder):
            place = source.relative_to(server.folder)
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder / place)
            self._copied[place] = source.read_bytes()

    def changed(self) -> dict[Path, bytes]:
        """The copied files whose content has changed, by their place in the server's folder."""
        return {
            place: content
            for place, before in self._copied.items()
            if (content := (self.server.folder / place).read_bytes()) != before
        }

    def put_back(self) -> list[str]:
        """Write the changed files to the server itself; return their names."""
        changed = self.changed()
        origin = self.origin.folder
        if edited := [str(place) for place in changed if not self._is_as_copied(origin / place)]:
            raise TaskError(
                f"{', '.join(edited)} in {origin} changed in the meantime: nothing was written; "
                "run the task again"
            )
        replace_all({origin / place: content for place, content in changed.items()})
        return sorted(map(str, changed))

    def _is_as_copied(self, path: Path) -> bool:
        place = path.relative_to(self.origin.folder)
        return path.is_file() and path.read_bytes() == self._copied[place]


def _sources(folder: Path) -> list[Path]:
    """The source files; outside of a git checkout, settings in hidden files too."""
    hidden = (path for path in folder.glob(".*") if path.is_file() and path.name != ".env")
    return sorted({*source_files(folder), *hidden})


def replace_all(files: Mapping[Path, bytes]) -> None:
    """Replace files together: an interrupted task has replaced none of them, or all."""
    with drafted(files) as drafts, uninterrupted():
        for path, draft in drafts.items():
            draft.replace(path)
