"""The servers that there are: every folder with a manifest."""

import difflib
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UsageError
from harness.manifest import Deployment, Manifest, load_manifest
from harness.paths import ROOT


@dataclass(frozen=True)
class Server:
    """A server's folder and what its manifest says."""

    name: str
    folder: Path
    manifest: Manifest


@dataclass(frozen=True)
class Target:
    """A server in one of its deployments."""

    server: Server
    deployment: Deployment

    @property
    def name(self) -> str:
        """``server/deployment``, as tasks take it and print it."""
        return f"{self.server.name}/{self.deployment.name}"


def find_servers(root: Path = ROOT) -> dict[str, Server]:
    """Every server by name: ``LANGUAGE/NAME/server.toml``."""
    servers: dict[str, Server] = {}
    for path in sorted(root.glob("*/*/server.toml")):
        name = path.parent.name
        if name in servers:
            raise UsageError(f"{path}: {servers[name].folder} is called {name} too")
        servers[name] = Server(name, path.parent, load_manifest(path))
    return servers


def find_targets(names: tuple[str, ...], root: Path = ROOT) -> list[Target]:
    """The deployments that ``names`` stand for, in order, each once.

    A name is ``SERVER`` (all its deployments), ``SERVER/DEPLOYMENT`` or ``all``.
    """
    servers = find_servers(root)
    targets = [target for name in names for target in _matching(name, servers)]
    return list({target.name: target for target in targets}.values())


def find_target(name: str, root: Path = ROOT) -> Target:
    """One deployment: ``SERVER`` (its first) or ``SERVER/DEPLOYMENT``."""
    return _matching(name, find_servers(root))[0]


def _matching(name: str, servers: dict[str, Server]) -> list[Target]:
    every = [
        Target(server, deployment)
        for server in servers.values()
        for deployment in server.manifest.deployment
    ]
    matching = [target for target in every if name in ("all", target.server.name, target.name)]
    if not matching:
        known = [*servers, *(target.name for target in every)]
        near = difflib.get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "`just list` shows what there is"
        raise UsageError(f"there is no server {name!r}: {hint}")
    return matching
