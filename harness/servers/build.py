"""Builds a server when its build inputs have changed."""

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.console import say
from harness.errors import TaskError, UsageError
from harness.paths import RUN
from harness.servers.catalog import Server
from harness.servers.manifest import Build, Tool
from harness.system.files import write_whole
from harness.system.locks import locked
from harness.system.processes import finish
from harness.system.programs import environment, run_program
from harness.toolchains.install import require
from harness.toolchains.known import TOOLCHAINS, Toolchain

_STAMP = ".built-from"


def build(server: Server) -> None:
    """Install the server's toolchains, and build it unless it is up to date."""
    require(map(toolchain, server.manifest.needs))
    recipe = server.manifest.build
    if recipe is None:
        return
    output = server.folder / recipe.output
    stamp = output / _STAMP
    with locked(RUN / "locks" / f"build-{server.name}") as lock:
        # Build output contains absolute paths, as the scripts of a virtual environment do.
        wanted, place = _digest(server, recipe), str(server.folder.resolve())
        if stamp.is_file():
            digest, _, built_at = stamp.read_text().partition("\n")
            is_sound = built_at == place and _has_python(output)
            if is_sound and digest == wanted:
                return
            stamp.unlink()
            if not is_sound:
                shutil.rmtree(output)
        say(f"building {server.name}")
        for command in recipe.run:
            # A build that outlives this process keeps the lock until it ends.
            run_in(server, command, keep_open=(lock.fileno(),))
        if not output.is_dir():
            raise TaskError(
                f"{server.folder / 'server.toml'}: build.output: the build created no folder "
                f"{recipe.output}"
            )
        write_whole(stamp, f"{wanted}\n{place}")


def _has_python(output: Path) -> bool:
    """Whether the Python that a virtual environment refers to is there, if it is one."""
    python = output / "bin" / "python"
    return python.exists() or not python.is_symlink()


def toolchain(need: str | Tool) -> Toolchain:
    """The toolchain that a manifest names, or the one that it describes itself."""
    if isinstance(need, str):
        return TOOLCHAINS[need]
    return Toolchain(
        need.name, need.name, suits=lambda: run_program(need.check)[0] == 0, by_hand=need.install
    )


def run_in(
    server: Server,
    command: list[str],
    settings: Mapping[str, str] | None = None,
    *,
    keep_open: Sequence[int] = (),
) -> None:
    """Run one of the manifest's commands in the server's folder; errors include its output."""
    env = environment() | dict(settings or {})
    try:
        status, output = finish(command, cwd=server.folder, env=env, keep_open=keep_open)
    except UsageError as error:
        raise UsageError(
            f"{server.name} needs {command[0]}, which is missing: run `./just doctor`"
        ) from error
    if status:
        raise TaskError(
            f"{' '.join(command)} failed in {server.folder} with exit status {status}:\n{output}"
        )


def _digest(server: Server, recipe: Build) -> str:
    digest = hashlib.sha256(repr(recipe.run).encode())
    for name in recipe.inputs:
        start = server.folder / name
        if not start.exists():
            raise UsageError(f"{server.folder / 'server.toml'}: build.inputs: there is no {name}")
        files = sorted(start.rglob("*")) if start.is_dir() else [start]
        for file in (file for file in files if file.is_file()):
            digest.update(os.fsencode(file.relative_to(server.folder)) + b"\0")
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
