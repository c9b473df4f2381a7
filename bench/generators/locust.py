"""Locust: a constant rate. https://docs.locust.io

With workers on other machines, this one only tells them what to send, and puts together what they
found. Whoever measures starts them there, once, as :func:`commands` says.
"""

import json
import re
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from bench.generators.order import Order, Outcome, OutOfOrder, run
from bench.result import Errors, Latency
from harness.errors import UsageError
from harness.paths import ROOT, TOOLS
from harness.ports import free_port
from harness.wheel import install_wheel

SCRIPT = Path(__file__).with_name("locustfile.py")
PORT = 5557
"""Where workers on other machines find this one."""
PATIENCE = 300.0
"""Seconds to wait for workers on other machines."""


def generate(order: Order, workers: Sequence[str] = ()) -> Outcome:
    """Send requests when they are due, whatever the server does.

    ``workers`` are other machines, by name or address; each runs as many processes as there are
    threads. The CPU time includes Locust's start, a second or two; ``busiest`` does not.
    """
    assert order.duration is not None
    url = urlsplit(order.url)
    if url.scheme != "http":
        raise UsageError(f"{order.url}: the constant-rate model speaks plain HTTP alone")
    if _is_loopback(url.hostname or "") and not all(map(_is_loopback, workers)):
        raise UsageError(f"{order.url} is out of reach for {', '.join(workers)}")
    install_wheel("locust", TOOLS / "locust")
    load = order.folder / "load.json"
    load.write_text(json.dumps(_load(order)))
    command = [*program(), "--locustfile", str(SCRIPT), "--load", str(load), "--headless"]
    command += ["--only-summary", "--skip-log-setup", *_processes(order.threads, workers)]
    # Only the time that it may take is bounded by the duration.
    patient = replace(order, duration=order.duration + (PATIENCE if workers else 0))
    ended = run(command, patient)
    line = next((line for line in ended.output.splitlines() if line.startswith("{")), None)
    if line is None:
        raise OutOfOrder(f"Locust told nothing:\n{ended.output[-800:]}")
    told = json.loads(line)
    latency = (
        Latency(**{name: told["latency"][name] for name in Latency.model_fields})
        if told["latency"]
        else None
    )
    errors = Errors(**told["errors"])
    cpu = ended.cpu + (told["cpu"] if workers else 0)
    return Outcome(
        command,
        told["requests"],
        told["seconds"],
        latency,
        errors,
        cpu,
        ended.output,
        ended.observer,
        busiest=told["busiest"],
        lag=told["lag"]["p99"] if told["lag"] else None,
    )


def program() -> list[str]:
    """Locust as it is installed here."""
    return ["env", f"PYTHONPATH={TOOLS / 'locust'}:{ROOT}", sys.executable, "-m", "locust"]


def commands(workers: Sequence[str], threads: int) -> dict[str, str]:
    """What to run on each of the other machines; uv is all that it needs.

    It serves one load after the other, and ends some minutes after the last.
    """
    lock = (ROOT / "requirements" / "locust.txt").read_text(encoding="utf-8")
    version = re.search(r"^locust==(\S+)", lock, re.MULTILINE)
    assert version is not None
    return {
        host: f"while uvx locust@{version[1]} {' '.join(worker_options(host, threads))}; do :; done"
        for host in workers
    }


def worker_options(host: str, threads: int) -> list[str]:
    """Those of a worker on ``host``: it gets the locustfile and the load from here."""
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
            raise UsageError(f"there is no way to {peer}: {error.strerror}") from error
        address: str = probe.getsockname()[0]
        return address


def _load(order: Order) -> dict[str, object]:
    return {
        "url": order.url,
        "paths": list(order.paths),
        "random": order.random,
        "headers": order.headers,
        "rate": order.level,
        "duration": order.duration,
        "timeout": order.timeout,
    }


def _processes(threads: int, workers: Sequence[str]) -> list[str]:
    """One user in each process; a single process is its own master."""
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


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
