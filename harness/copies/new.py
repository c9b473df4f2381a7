"""Copies a server as the start of a new service."""

import json
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import spec
from harness.copies import readme
from harness.copies.naming import check_name, rename
from harness.errors import TaskError, UsageError
from harness.paths import ROOT
from harness.servers.catalog import NAME, Server
from harness.servers.source import copied_files, source_files

# Files that copies get besides the fixtures and the server's own files
TEMPLATE = Path(__file__).parent / "template"

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
    left_out = {one.name for one in server.manifest.deployment if not one.copied}
    text = readme.without_deployments(readme.without_outer_links(text), left_out)
    description.write_text(text, errors="surrogateescape")
    if left_out:
        _leave_out(left_out, folder)
    if name:
        rename(server, folder, name)


def _leave_out(deployments: set[str], folder: Path) -> None:
    """Remove deployments from the manifest and from the recorded answers."""
    manifest, records = folder / NAME, folder / "behaviours.json"
    head, *parts = re.split(r"^(?=\[\[deployment\]\])", manifest.read_text(), flags=re.MULTILINE)
    kept = [
        part for part in parts if tomllib.loads(part)["deployment"][0]["name"] not in deployments
    ]
    manifest.write_text("".join([head, *kept]).rstrip() + "\n")
    if records.exists():
        answers = json.loads(records.read_text()).items()
        own = {name: one for name, one in answers if name not in deployments}
        records.write_text(json.dumps(own, indent=2, ensure_ascii=False) + "\n")


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
    for source in copied_files(server):
        yield source, source.relative_to(server.folder)
