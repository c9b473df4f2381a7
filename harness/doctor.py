"""Checks the prerequisites on this machine."""

import os
import platform
import shutil
import sys
from dataclasses import dataclass

from harness.paths import ROOT
from harness.servers.build import toolchain
from harness.servers.catalog import broken_manifests, find_servers
from harness.services.mongodb import MongoDB
from harness.system.programs import find_program, run_program
from harness.toolchains.known import LOAD_GENERATORS, TOOLCHAINS, Toolchain

_OWN = "set MONGODB_URL and DATABASE_URL to servers of your own"


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    what: str
    ok: bool
    found: str
    advice: str = ""
    needed: bool = True  # Whether all tasks need it; otherwise only some servers or workloads do


def examine() -> list[Finding]:
    """Run all checks; change nothing."""
    setpriv = "apt install util-linux (it stops servers when the task that started them dies)"
    return [
        *([_program("setpriv", setpriv)] if sys.platform == "linux" else []),
        _program("uv", "run ./just, which fetches it"),
        _program("git", "apt install git"),
        _program("curl", "apt install curl (for the lines that serve prints)"),
        *_databases(),
        *_toolchains(),
        *(Finding("a manifest", False, "broken", error) for error in broken_manifests()),
        _disk(),
    ]


def _program(name: str, advice: str) -> Finding:
    if find_program(name) is None:
        return Finding(name, False, "not found", advice)
    status, output = run_program([name, "--version"])
    return Finding(name, status == 0, output.partition("\n")[0])


def _databases() -> list[Finding]:
    """Whether the databases that tasks start by themselves can run here, if they are needed."""
    if os.environ.get("MONGODB_URL") and os.environ.get("DATABASE_URL"):
        return [Finding("databases", True, "your own, in MONGODB_URL and DATABASE_URL")]
    here = f"{platform.system()} on {platform.machine()}"
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        return [Finding("databases: Linux on x86-64 or arm64", False, here, _OWN)]
    mongod = MongoDB().mongod
    if not mongod.is_file():
        return [Finding("databases", True, f"the first task that needs them fetches them, {here}")]
    status, output = run_program([str(mongod), "--version"])
    found = output.partition("\n")[0] or "it needs a processor with AVX"
    advice = (
        "" if status == 0 else f"apt install libcurl4 libssl3, with glibc 2.34 or later; or {_OWN}"
    )
    return [Finding("MongoDB", status == 0, found, advice)]


def _toolchains() -> list[Finding]:
    every = {name: TOOLCHAINS[name] for name in LOAD_GENERATORS}
    users = {name: ["bench"] for name in LOAD_GENERATORS}
    for server in find_servers().values():
        for one in map(toolchain, server.manifest.needs):
            every[one.name] = one
            users.setdefault(one.name, []).append(server.name)
    return [_toolchain(one, users[name]) for name, one in every.items()]


def _toolchain(one: Toolchain, users: list[str]) -> Finding:
    what = f"{one.what} (for {', '.join(users)})"
    if one.found():
        return Finding(what, True, "found", needed=False)
    setup = "./just setup" if users == ["bench"] else f"./just setup {users[0]}"
    advice = f"{one.advice}; nothing else needs it"
    if one.wheel or one.debian:
        advice = f"`{setup}` installs it ({one.advice}); nothing else needs it"
    return Finding(what, False, "not found", advice, needed=False)


def _disk() -> Finding:
    free = shutil.disk_usage(ROOT).free / 2**30
    return Finding("disk", free > 2, f"{free:.0f} GiB free", "" if free > 2 else "2 GiB are needed")
