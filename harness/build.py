"""Builds a server when what its build reads has changed."""

import hashlib
import os
import subprocess
from collections.abc import Mapping

from harness.catalog import Server
from harness.console import say
from harness.errors import TaskError, UsageError
from harness.locks import locked
from harness.paths import RUN
from harness.toolchains import require, search_path

_STAMP = ".built-from"


def environment() -> dict[str, str]:
    """The environment of builds and servers: this process', with ``.tools`` on the path."""
    own = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    return own | {"PATH": search_path()}


def build(server: Server) -> None:
    """Bring what the server needs, and run its build unless that is there from the same inputs."""
    require(server.manifest.needs)
    recipe = server.manifest.build
    if recipe is None:
        return
    stamp = server.folder / recipe.output / _STAMP
    with locked(RUN / "locks" / f"build-{server.name}"):
        wanted = _digest(server)
        if stamp.is_file() and stamp.read_text() == wanted:
            return
        say(f"building {server.name}")
        for command in recipe.run:
            run_in(server, command)
        stamp.write_text(wanted)


def run_in(server: Server, command: list[str], settings: Mapping[str, str] | None = None) -> None:
    """Run a command of the manifest in the server's folder; an error has what it printed."""
    try:
        done = subprocess.run(
            command,
            cwd=server.folder,
            env=environment() | dict(settings or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise UsageError(
            f"{server.name} is built with {command[0]}, which is missing: `just doctor` says more"
        ) from error
    if done.returncode:
        raise TaskError(
            f"{' '.join(command)} failed in {server.folder} with exit status "
            f"{done.returncode}:\n{done.stdout.rstrip()}"
        )


def _digest(server: Server) -> str:
    recipe = server.manifest.build
    assert recipe is not None
    digest = hashlib.sha256(repr(recipe.run).encode())
    for name in recipe.inputs:
        start = server.folder / name
        if not start.exists():
            raise UsageError(f"{server.folder / 'server.toml'}: build.inputs: there is no {name}")
        files = sorted(start.rglob("*")) if start.is_dir() else [start]
        for file in (file for file in files if file.is_file()):
            digest.update(f"{file.relative_to(server.folder)}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
