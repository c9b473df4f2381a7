"""Checks the prerequisites on this machine."""

import platform
import shutil
import sys
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path

from harness.paths import ROOT
from harness.servers.catalog import broken_manifests, find_servers
from harness.system.programs import run_program
from harness.toolchains.install import LOAD_GENERATORS, Toolchain, toolchain


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
        *(_program(name, advice) for name, advice in _programs().items()),
        *_embedded_databases(),
        *_toolchains(),
        *_manifests(),
        _disk(),
    ]


def _programs() -> dict[str, str]:
    needed = {
        "uv": "run ./just, which fetches it",
        "git": "apt install git",
        "curl": "apt install curl (for the lines that serve prints)",
    }
    if sys.platform == "linux":
        needed["setpriv"] = "apt install util-linux (it ends servers whose task has died)"
    return needed


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


def _program(name: str, advice: str) -> Finding:
    status, output = run_program([name, "--version"])
    if not output:
        return Finding(name, False, "not found", advice)
    return Finding(name, status == 0, output.splitlines()[0])


def _embedded_databases() -> list[Finding]:
    own = "set MONGODB_URL to a server of your own"
    system, machine = platform.system(), platform.machine()
    both = "set MONGODB_URL and DATABASE_URL to servers of your own"
    supported = system == "Linux" and machine in ("x86_64", "aarch64")
    libc, version = platform.libc_ver()
    glibc = libc == "glibc" and tuple(map(int, version.split("."))) >= (2, 34)
    cpuinfo = Path("/proc/cpuinfo")
    avx = machine != "x86_64" or (cpuinfo.exists() and " avx " in cpuinfo.read_text())
    curl = find_library("curl") is not None
    crypto = (find_library("crypto") or "").endswith(".3")
    found = [
        ("databases: Linux on x86-64 or arm64", f"{system} on {machine}", supported, both),
        ("MongoDB: glibc 2.34", f"{libc} {version}", glibc, own),
        ("MongoDB: AVX", "yes" if avx else "no", avx, own),
        ("MongoDB: libcurl 4", "yes" if curl else "no", curl, f"apt install libcurl4, or {own}"),
        ("MongoDB: OpenSSL 3", "yes" if crypto else "no", crypto, f"apt install libssl3, or {own}"),
    ]
    return [
        Finding(f"embedded {what}", ok, state, "" if ok else advice)
        for what, state, ok, advice in found
    ]


def _disk() -> Finding:
    free = shutil.disk_usage(ROOT).free / 2**30
    return Finding("disk", free > 2, f"{free:.0f} GiB free", "" if free > 2 else "2 GiB are needed")
