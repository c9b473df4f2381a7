"""The machine of a run: its hardware, limits and software versions."""

import os
import platform
import re
import resource
import subprocess
from pathlib import Path

import psutil
import psycopg
import pymongo

from bench.records.result import Machine
from bench.workloads.load import Load
from harness.errors import UsageError
from harness.paths import ROOT
from harness.services import Services
from harness.system.programs import version_of

_CPUS = Path("/proc/cpuinfo")
_KERNEL = (
    *("net/core/somaxconn", "net/ipv4/tcp_max_syn_backlog", "net/ipv4/ip_local_port_range"),
    *("net/ipv4/tcp_tw_reuse", "net/ipv4/tcp_fin_timeout", "fs/file-max"),
)
_OTHER_FILES = 100  # Open files of a program besides its connections


def require_files(load: Load) -> None:
    """Refuse connections that the limit of open files does not allow, on either side.

    A server would otherwise be blamed for them.
    """
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    most = int(max(load.levels))
    needed = most + _OTHER_FILES
    if load.model == "closed" and limit != resource.RLIM_INFINITY and needed > limit:
        raise UsageError(
            f"{most} connections need {needed} open files, and the limit is {limit}: raise it "
            f"(`ulimit -Hn {needed}` as root, or limits.conf), or give lower --levels"
        )


def describe() -> Machine:
    """Describe the machine as it is now."""
    limits = {name.replace("/", "."): _read(Path("/proc/sys") / name) for name in _KERNEL}
    limits["open files"] = str(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    limits["cgroup cpu.max"] = _read(Path("/sys/fs/cgroup/cpu.max"))
    return Machine(
        system=_system(),
        kernel=platform.release(),
        cpu=_cpu("model name") or "unknown",
        model=" ".join(map(_cpu, ("cpu family", "model", "stepping"))).strip(),
        microcode=_cpu("microcode"),
        cores=len(os.sched_getaffinity(0)),
        memory=psutil.virtual_memory().total,
        boot=_read(Path("/proc/sys/kernel/random/boot_id")),
        governor=governors(Path("/sys/devices/system/cpu")),
        limits={name: value for name, value in limits.items() if value},
    )


def governors(folder: Path) -> str | None:
    """The frequency governors of the cores; None if they have none."""
    found = {_read(path) for path in folder.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return ", ".join(sorted(found)) or None


def _read(path: Path) -> str:
    try:
        return " ".join(path.read_text().split())
    except OSError:
        return ""


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def _cpu(field: str) -> str:
    found = re.search(rf"^{field}\s*: (.*)$", _CPUS.read_text() if _CPUS.exists() else "", re.M)
    return found[1].strip() if found else ""


def versions(services: Services) -> dict[str, str]:
    """The versions of Python, the load generator and the databases."""
    found = {"python": platform.python_version(), "h2load": _h2load()}
    with pymongo.MongoClient[dict[str, object]](services.mongodb_url) as client:
        found["mongodb"] = client.server_info()["version"]
    with psycopg.connect(services.database_url) as connection:
        found["postgresql"] = connection.info.parameter_status("server_version") or ""
    return found


def _h2load() -> str:
    version = version_of("h2load", "--version")
    return ".".join(map(str, version)) if version else "not installed"


def identity() -> str:
    """What machines that generate a load together have in common."""
    return f"commit {commit()}, h2load {_h2load()}"


def commit() -> str:
    """The current commit, with ``+`` if files have been changed since."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return described.stdout.strip()
