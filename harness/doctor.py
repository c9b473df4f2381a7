"""Checks the prerequisites on this machine."""

import platform
import shutil
import subprocess
import sys
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path

from harness.catalog import broken_manifests, find_servers
from harness.paths import ROOT
from harness.programs import find_program
from harness.toolchains import LOAD_GENERATORS, Toolchain, toolchain


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
    return [
        Finding("Python", sys.version_info >= (3, 11), platform.python_version()),
        *_setpriv(),
        _program("uv", "run ./just, which fetches it"),
        _program("git", "apt install git"),
        _program("curl", "apt install curl (for the lines that serve prints)"),
        *_embedded_databases(),
        *_toolchains(),
        *_manifests(),
        _disk(),
    ]


def _toolchains() -> list[Finding]:
    every = {name: toolchain(name) for name in LOAD_GENERATORS}
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
    setup = "just setup" if users == ["bench"] else f"just setup {users[0]}"
    advice = f"{one.advice}; nothing else needs it"
    if one.wheel or one.debian:
        advice = f"`{setup}` installs it ({one.advice}); nothing else needs it"
    return Finding(what, False, "not found", advice, needed=False)


def _manifests() -> list[Finding]:
    return [Finding("a manifest", False, "broken", error) for error in broken_manifests()]


def _setpriv() -> list[Finding]:
    advice = "apt install util-linux (it stops servers when the task that started them dies)"
    return [_program("setpriv", advice)] if sys.platform == "linux" else []


def _program(name: str, advice: str) -> Finding:
    path = find_program(name)
    if path is None:
        return Finding(name, False, "not found", advice)
    version = subprocess.run([path, "--version"], stdout=subprocess.PIPE, text=True, check=False)
    return Finding(name, version.returncode == 0, version.stdout.splitlines()[0])


def _embedded_databases() -> list[Finding]:
    own = "or set MONGODB_URL to a server of your own"
    linux = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
    libc, version = platform.libc_ver()
    glibc = libc == "glibc" and tuple(map(int, version.split("."))) >= (2, 34)
    cpuinfo = Path("/proc/cpuinfo")
    avx = platform.machine() != "x86_64" or " avx " in (
        cpuinfo.read_text() if cpuinfo.exists() else ""
    )
    curl = find_library("curl") is not None
    crypto = (find_library("crypto") or "").endswith(".3")
    return [
        Finding(
            "embedded databases: Linux on x86-64 or arm64",
            linux,
            f"{platform.system()} on {platform.machine()}",
            "" if linux else "set MONGODB_URL and DATABASE_URL to servers of your own",
        ),
        Finding("embedded MongoDB: glibc 2.34", glibc, f"{libc} {version}", "" if glibc else own),
        Finding("embedded MongoDB: AVX", avx, "yes" if avx else "no", "" if avx else own),
        Finding(
            "embedded MongoDB: libcurl 4",
            curl,
            "yes" if curl else "no",
            "" if curl else f"apt install libcurl4, {own}",
        ),
        Finding(
            "embedded MongoDB: OpenSSL 3",
            crypto,
            "yes" if crypto else "no",
            "" if crypto else f"apt install libssl3, {own}",
        ),
    ]


def _disk() -> Finding:
    free = shutil.disk_usage(ROOT).free / 2**30
    return Finding("disk", free > 2, f"{free:.0f} GiB free", "" if free > 2 else "2 GiB are needed")
