"""Copies a server as the start of a new service."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import spec
from harness import readme
from harness.catalog import Server
from harness.errors import TaskError, UsageError
from harness.naming import check_name, rename
from harness.paths import ROOT
from harness.sources import source_files

TEMPLATE = Path(__file__).parent / "template"
"""Files that copies get besides the fixtures and the server's own files."""

FIXTURES = spec.FILES.parent


def copy_server(server: Server, target: Path, name: str | None = None) -> None:
    """Copy the server, with all that it needs outside this repository, to a new or empty folder.

    ``name`` replaces the server's own. A failure leaves nothing behind.
    """
    if name:
        check_name(server, name)
    with drafted(target) as draft:
        _write(server, draft, name)


@contextmanager
def drafted(target: Path) -> Iterator[Path]:
    """A folder whose files become those of ``target``, which must be new or empty.

    A failure leaves nothing behind.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists already: give a new or empty folder")
    try:
        there = next(folder for folder in (target, *target.parents) if folder.is_dir())
        with tempfile.TemporaryDirectory(prefix=".new-", dir=there) as drafts:
            draft = Path(drafts) / "draft"
            draft.mkdir()
            yield draft
            target.mkdir(parents=True, exist_ok=True)
            for path in list(draft.iterdir()):
                path.rename(target / path.name)
    except OSError as error:
        raise TaskError(f"cannot write {target}: {error}") from error


def _write(server: Server, folder: Path, name: str | None) -> None:
    for source, place in _files(server):
        copy = folder / place
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, copy)
    description = folder / "README.md"
    text = description.read_text(errors="surrogateescape")
    description.write_text(readme.without_outer_links(text), errors="surrogateescape")
    if name:
        rename(server, folder, name)


def _files(server: Server) -> Iterator[tuple[Path, Path]]:
    """Each file of a copy, and its path there; the server's own come last and override others."""
    yield ROOT / "LICENSE", Path("LICENSE")
    has_databases = server.manifest.mongodb and server.manifest.sql
    for source in source_files(FIXTURES):
        if has_databases or source.parent == spec.FILES:
            yield source, Path("fixtures") / source.relative_to(FIXTURES)
    if has_databases:
        for source in source_files(TEMPLATE):
            yield source, source.relative_to(TEMPLATE)
    for source in source_files(server.folder):
        yield source, source.relative_to(server.folder)
