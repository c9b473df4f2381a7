"""Locust: a constant rate, and any load from other machines. https://docs.locust.io

With workers on other machines, this machine is only the master: it hands out the load and merges
the results. https://docs.locust.io/en/stable/running-distributed.html
"""

import json
import re
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from bench.generators.interface import (
    IN_FLIGHT,
    WINDOWS,
    Bodies,
    GeneratorError,
    LoadResult,
    LoadSpec,
)
from bench.generators.program import run
from bench.records.measurement import Errors
from harness.errors import UsageError
from harness.paths import ROOT, TOOLS
from harness.system.ports import free_port
from harness.toolchains.wheel import install_wheel

# The files that Locust runs, and sends to its workers
_SCRIPTS = [
    str(Path(__file__).with_name(f"{name}.py"))
    for name in ("locust_connection", "locust_share", "locustfile")
]
PORT = 5557  # The master's port for workers on other machines
PATIENCE = 300.0  # Seconds to wait for workers on other machines


def version() -> str:
    """The version that its lock names."""
    lock = (ROOT / "requirements" / "locust.txt").read_text(encoding="utf-8")
    found = re.search(r"^locust==(\S+)", lock, re.MULTILINE)
    assert found is not None
    return found[1]


def generate(spec: LoadSpec, workers: Sequence[str] = ()) -> LoadResult:
    """Put a load on a server; at a rate, whatever the server does.

    ``workers`` are other machines, by name or address; each runs ``threads`` processes. The CPU
    time includes Locust's startup, a second or two; ``busiest`` does not.
    """
    url = urlsplit(spec.url)
    if url.scheme != "http":
        raise UsageError(f"{spec.url}: only plain HTTP can be put under load")
    if is_loopback(url.hostname or "") and not all(map(is_loopback, workers)):
        raise UsageError(f"{spec.url} is out of reach for {', '.join(workers)}")
    install_wheel("locust", TOOLS / "locust")
    load = spec.folder / "load.json"
    load.write_text(json.dumps(_load(spec)))
    command = [*program(), "--locustfile", ",".join(_SCRIPTS), "--load", str(load), "--headless"]
    command += ["--only-summary", "--skip-log-setup", *_processes(spec.load.threads, workers)]
    # The duration only bounds how long the program may run.
    bounded = spec.but(duration=(spec.duration or 0) + (PATIENCE if workers else 0))
    finished = run(command, bounded)
    line = next((line for line in finished.output.splitlines() if line.startswith("{")), None)
    if line is None:
        raise GeneratorError(f"Locust printed no result:\n{finished.output[-800:]}")
    values = json.loads(line)
    received, due, cpu = (values.pop(name) for name in ("received", "due", "cpu"))
    workers_cpu = cpu if workers else 0.0
    return LoadResult(
        **values | {"errors": Errors(**values["errors"])},
        command=command,
        cpu=finished.cpu + workers_cpu,
        observer=finished.observer,
        output=finished.output,
        bodies=Bodies(received, due, least=due, most=due) if spec.sizes else None,
        workers_cpu=workers_cpu,
    )


def program() -> list[str]:
    """The command that runs the installed Locust."""
    return ["env", f"PYTHONPATH={TOOLS / 'locust'}:{ROOT}", sys.executable, "-m", "locust"]


def worker_commands(hosts: Sequence[str], threads: int) -> dict[str, str]:
    """The command for each host, in a shell; it ends some minutes after the last load."""
    return {
        host: f"export TMPDIR=$(mktemp -d); while uvx locust@{version()} "
        f"{' '.join(worker_options(host, threads))}; do :; done"
        for host in hosts
    }


def worker_options(host: str, threads: int) -> list[str]:
    """The options of workers on ``host``, which get the locustfile and the load from here."""
    return [
        *("--worker", "--locustfile", "-", "--processes", str(threads)),
        *("--master-host", own_address(host), "--master-port", str(PORT)),
    ]


def own_address(peer: str) -> str:
    """The address of this machine that ``peer`` can reach."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((peer, PORT))  # sends nothing
        except OSError as error:
            raise UsageError(f"there is no route to {peer}: {error.strerror}") from error
        address: str = probe.getsockname()[0]
        return address


def _load(spec: LoadSpec) -> dict[str, object]:
    own = spec.load.model_dump(include={"model", "requests", "calls", "timeout"})
    return own | {
        "url": spec.url,
        "paths": list(spec.paths),
        "random": spec.random,
        "seed": spec.seed,
        "headers": spec.headers,
        "body": spec.body,
        "statuses": list(spec.statuses),
        "sizes": list(spec.sizes),
        "level": spec.level,
        "duration": spec.duration,
        "in_flight": IN_FLIGHT,
        "windows": WINDOWS,
    }


def _processes(threads: int, workers: Sequence[str]) -> list[str]:
    """The options for one user in each process; a single process is its own master."""
    count = threads * (len(workers) or 1)
    users = ["--users", str(count), "--spawn-rate", str(count)]
    if workers:
        patience = ["--expect-workers", str(count), "--expect-workers-max-wait", f"{PATIENCE:.0f}"]
        return [*users, "--master", "--master-bind-port", str(PORT), *patience]
    if count > 1:
        port = str(free_port())
        here = ["--master-bind-host", "127.0.0.1", "--master-bind-port", port]
        return [*users, "--processes", str(count), *here, "--master-port", port]
    return users


def is_loopback(host: str) -> bool:
    """Whether a name or address means this machine."""
    return host in ("localhost", "::1") or host.startswith("127.")
