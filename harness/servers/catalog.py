"""Finds the servers: every folder with a manifest."""

import re
import shlex
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path

from harness.errors import UsageError, did_you_mean
from harness.paths import CALLER, ROOT
from harness.servers.manifest import Deployment, Manifest, load_manifest

NAME = "server.toml"  # A manifest's file name


@dataclass(frozen=True)
class Server:
    """A server: its folder and its manifest."""

    name: str
    folder: Path
    manifest: Manifest

    def is_in(self, root: Path) -> bool:
        """Whether :func:`find_servers` finds it in ``root``."""
        return self.folder.parent.parent == root


@dataclass(frozen=True)
class Target:
    """One deployment of a server."""

    server: Server
    deployment: Deployment

    @property
    def name(self) -> str:
        """``server/deployment``, as tasks accept and print it."""
        return f"{self.server.name}/{self.deployment.name}"

    @property
    def path(self) -> str:
        """``folder/deployment`` with the absolute path of the folder, which tasks accept too."""
        return f"{self.server.folder}/{self.deployment.name}"

    @property
    def called(self) -> str:
        """The shortest name that tasks accept from where the user is, as a word for the shell."""
        default = self.deployment == self.server.manifest.deployment[0]
        if self.server.is_in(ROOT):
            return self.server.name if default else self.name
        path = str(self.server.folder) if default else self.path
        return shlex.quote(min(f"./{relpath(path, CALLER)}".replace("./../", "../"), path, key=len))


def find_servers(root: Path = ROOT) -> dict[str, Server]:
    """Every server by name: ``LANGUAGE/NAME/server.toml``. Broken manifests are left out."""
    return {name: one for name, one in _read_all(root).items() if isinstance(one, Server)}


def broken_manifests(root: Path = ROOT) -> list[str]:
    """The errors in the manifests that :func:`find_servers` leaves out."""
    return [str(one) for one in _read_all(root).values() if isinstance(one, UsageError)]


def require_all(names: Collection[str], root: Path = ROOT) -> None:
    """Fail at the end of a task if ``all`` left out broken manifests."""
    if "all" in names and (broken := broken_manifests(root)):
        raise UsageError("left out: " + "\n".join(broken))


def _read_all(root: Path) -> dict[str, Server | UsageError]:
    found: dict[str, Server | UsageError] = {}
    for path in sorted(root.glob(f"*/*/{NAME}")):
        name = path.parent.name
        if name in found:
            other = min(root.glob(f"*/{name}/{NAME}")).parent
            found[f"{path}"] = UsageError(f"{path}: the name {name} is taken by {other}")
            continue
        try:
            found[name] = Server(name, path.parent, load_manifest(path))
        except UsageError as error:
            found[name] = error
    return found


def find_targets(names: Collection[str], root: Path = ROOT) -> list[Target]:
    """The deployments that ``names`` select, in order, without duplicates.

    A name is ``SERVER`` (all its deployments), ``SERVER/DEPLOYMENT``, ``all``, or the path of any
    folder with a ``server.toml``, optionally followed by ``/DEPLOYMENT``.
    """
    targets = [target for name in names for target in _matching(name, root)]
    return list({target.path: target for target in targets}.values())


def find_target(name: str, root: Path = ROOT) -> Target:
    """The named deployment, or the first deployment of the named server."""
    if name == "all":
        raise UsageError("give one server, not all: `./just list` shows them")
    return _matching(name, root)[0]


def servers_of(targets: Iterable[Target]) -> list[Server]:
    """Their servers, each once."""
    return list({target.server.folder: target.server for target in targets}.values())


def _matching(name: str, root: Path) -> list[Target]:
    if name.startswith((".", "/")):
        return _at(name)
    found = _read_all(root)
    broken = found.get(name.split("/")[0])
    if isinstance(broken, UsageError):
        raise broken
    servers = [one for one in found.values() if isinstance(one, Server)]
    every = _targets(servers)
    matching = [target for target in every if name in ("all", target.server.name, target.name)]
    if matching:
        return matching
    if _manifest(CALLER / name):
        return _at(name)
    if re.fullmatch(r"[\w.-]+:\d+/?", name):
        raise UsageError(f"there is no server {name!r}: did you mean http://{name}?")
    known = [*(one.name for one in servers), *(target.name for target in every)]
    hint = did_you_mean(name, known, "`./just list` shows them")
    raise UsageError(f"there is no server {name!r}: {hint}")


def _targets(servers: Iterable[Server]) -> list[Target]:
    return [
        Target(server, deployment)
        for server in servers
        for deployment in server.manifest.deployment
    ]


def _manifest(path: Path) -> Path | None:
    """The manifest in ``path``, or in its parent if ``path`` ends in a deployment's name."""
    return next((one for one in (path / NAME, path.parent / NAME) if one.is_file()), None)


def _at(name: str) -> list[Target]:
    path = (CALLER / name).resolve()
    manifest = _manifest(path)
    if manifest is None:
        raise UsageError(f"{path} has no {NAME}: give the folder of a server")
    folder = manifest.parent
    every = _targets([Server(folder.name, folder, load_manifest(manifest))])
    if folder == path:
        return every
    if found := [target for target in every if target.deployment.name == path.name]:
        return found
    names = ", ".join(target.deployment.name for target in every)
    raise UsageError(f"{manifest}: no deployment {path.name!r}, only {names}")
