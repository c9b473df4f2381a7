"""What the machine has of what the tasks need."""

import platform
import shutil
import subprocess
import sys
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path

from harness.catalog import find_servers
from harness.paths import ROOT
from harness.toolchains import LOAD_GENERATORS, TOOLCHAINS, find_program


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    ok: bool
    found: str
    advice: str = ""


def examine() -> list[Finding]:
    """Look at everything; nothing is changed."""
    return [
        Finding("Python", sys.version_info >= (3, 11), platform.python_version()),
        _program("uv", "run ./just, which fetches it"),
        _program("git", "apt install git"),
        _program("curl", "apt install curl (for the lines that serve prints)"),
        *_embedded_databases(),
        *_toolchains(),
        _disk(),
    ]


def _toolchains() -> list[Finding]:
    users: dict[str, list[str]] = {name: ["bench"] for name in LOAD_GENERATORS}
    for server in find_servers().values():
        for need in server.manifest.needs:
            users.setdefault(need, []).append(server.name)
    findings = []
    for name, servers in users.items():
        toolchain, found = TOOLCHAINS[name], TOOLCHAINS[name].found()
        by_hand = (
            f"apt install {' '.join(toolchain.debian)}" if toolchain.debian else "a PyPI wheel"
        )
        whom = "" if servers == ["bench"] else f" {servers[0]}"
        advice = f"just setup{whom} brings it ({by_hand}); all else does without"
        findings.append(
            Finding(
                f"{toolchain.what} (for {', '.join(servers)})",
                found,
                "found" if found else "not found",
                "" if found else advice,
            )
        )
    return findings


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
