"""Load from several machines, on a server and a database of their own."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bench.generators import generate, locust
from bench.generators.load import LoadSpec
from bench.generators.locust import worker_commands
from bench.workload import Model
from harness.paths import ROOT, TOOLS
from harness.system.processes import spawn, stop
from harness.toolchains.install import require
from harness.toolchains.wheel import install_wheel
from tests import distant
from tests.namespaces import Host, network
from tests.test_locust import load_spec

pytestmark = pytest.mark.timeout(300)

LOADS = ("load1", "load2", "load3")
UVX = """#!/bin/sh
shift
TMPDIR=$(mktemp -d -p {folder}) PYTHONPATH={path} exec {python} -m locust "$@"
"""
"""Instead of uvx, which would need the internet. Each start has a folder for temporary files of its
own: Locust writes the locustfile that it receives there, always under the same name."""


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up on a worker that does not come, long before the test's own timeout."""
    monkeypatch.setattr(locust, "PATIENCE", 60.0)


@pytest.fixture(scope="module")
def hosts() -> Iterator[dict[str, Host]]:
    """Three load hosts, a server, a database, and the host that runs the measurement."""
    require(["iproute2"])
    install_wheel("locust", TOOLS / "locust")
    names = (*LOADS, "server", "database", "bench")
    with network(names) as made, ExitStack() as running:
        found = dict(zip(names, made, strict=True))
        server, database = found["server"], found["database"]
        for role, host, port, *more in (
            ("database", database, distant.DATABASE_PORT),
            ("server", server, 8000, database.address),
            ("frozen", server, 8001),
        ):
            running.enter_context(distant.serving(role, host.address, port, *more, on=host))
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hosts' folder, with a uvx that runs the Locust of this repository."""
    folder = tmp_path_factory.mktemp("hosts")
    path = f"{TOOLS / 'locust'}:{ROOT}"
    uvx = folder / "bin" / "uvx"
    uvx.parent.mkdir()
    uvx.write_text(UVX.format(folder=folder, path=path, python=sys.executable))
    uvx.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def workers(hosts: dict[str, Host], folder: Path) -> Iterator[list[str]]:
    """Addresses of load hosts on which users have run the commands that were printed."""
    loads = [hosts[name] for name in LOADS]
    addresses = [host.address for host in loads]
    commands = hosts["bench"].call(lambda: worker_commands(addresses, 1))
    env = os.environ | {"PATH": f"{folder}/bin:{os.environ['PATH']}"}
    with ExitStack() as running:
        for host in loads:
            command = host.command("sh", "-c", commands[host.address])
            with (folder / f"{host.name}.log").open("w") as log:
                process = spawn(command, cwd=folder, env=env, output=log)
            running.callback(stop, process, grace=1)
        yield addresses


def spec_of(hosts: dict[str, Host], folder: Path, port: int, **changes: Any) -> LoadSpec:
    url = f"http://{hosts['server'].address}:{port}"
    return load_spec(folder, port, "/", url=url, **changes)


@pytest.mark.parametrize(
    ("model", "level"), [("closed", 12.0), ("connection rate", 50.0), ("constant rate", 200.0)]
)
def test_three_machines_measure_as_one_does(
    model: Model, level: float, hosts: dict[str, Host], workers: list[str], tmp_path: Path
) -> None:
    """The server takes as long as its database, on a host of its own."""
    load = spec_of(hosts, tmp_path, 8000, model=model, level=level, duration=2.0)
    bench = hosts["bench"]
    for _ in range(3):
        one = bench.call(lambda: generate(load))
        three = bench.call(lambda: generate(load, workers))
        assert one.latency
        assert three.latency
        same = three.requests == pytest.approx(one.requests, rel=0.05) and (
            three.latency.p50 == pytest.approx(one.latency.p50, rel=0.05)
        )
        if same:
            break  # otherwise this machine was too busy for six hosts: try again
    assert same
    assert one.errors.total == three.errors.total == 0
    assert three.requests / three.seconds <= (level / distant.DELAY if model == "closed" else level)
    assert sum(three.per_second) == pytest.approx(three.requests, rel=0.2)


def test_a_stall_is_not_hidden_from_three_machines(
    hosts: dict[str, Host], workers: list[str], tmp_path: Path
) -> None:
    """A quarter of the requests start during a freeze, and wait until its end."""
    theory = pytest.approx({"p90": 600, "p95": 800, "p99": 960}, rel=0.03)
    load = spec_of(hosts, tmp_path, 8001, level=100.0, duration=2 * distant.PERIOD)
    for _ in range(3):
        result = hosts["bench"].call(lambda: generate(load, workers))
        assert result.latency
        found = result.latency.model_dump(include={"p90", "p95", "p99"})
        if found == theory:
            break  # otherwise this machine was too busy to send them on time: try again
    assert found == theory
    assert result.requests == 200 * distant.PERIOD
