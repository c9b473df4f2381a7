"""Load from several machines, on a server and a database of their own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bench.generators import generate
from bench.generators.load import LoadSpec
from bench.hosts.workers import commands, workers_on
from bench.workload import Model
from harness.paths import ROOT, TOOLS
from harness.ports import accepts
from harness.processes import spawn, stop, wait_until
from harness.programs import find_program
from harness.wheel import install_wheel
from tests import distant
from tests.namespaces import Host, network
from tests.test_constant_rate import load_spec

pytestmark = pytest.mark.timeout(300)

UVX = '#!/bin/sh\nshift\nexec env PYTHONPATH={path} {python} -m locust "$@"\n'
"""Instead of uvx, which would need the internet."""
SSH = '#!/bin/sh\nexec {ssh} -F {folder}/ssh_config "$@"\n'
SSH_CONFIG = """
IdentityFile {folder}/key
UserKnownHostsFile /dev/null
StrictHostKeyChecking no
LogLevel ERROR
Host load*
    Port 2222
Host load1
    Hostname {load1}
Host load2
    Hostname {load2}
Host load3
    Hostname {load3}
"""
SSHD_CONFIG = """
Port 2222
HostKey {folder}/key
AuthorizedKeysFile {folder}/key.pub
PidFile none
StrictModes no
UsePAM no
SetEnv HOME={folder} PATH={folder}/bin:/usr/bin:/bin
"""


@pytest.fixture(scope="module")
def hosts() -> Iterator[dict[str, Host]]:
    """Three load hosts, a server, a database, and the host that runs the measurement."""
    install_wheel("locust", TOOLS / "locust")
    names = ("load1", "load2", "load3", "server", "database", "bench")
    with network(names) as made, ExitStack() as running:
        found = dict(zip(names, made, strict=True))
        server, database = found["server"], found["database"]
        _serve(running, database, "database", distant.DATABASE_PORT)
        _serve(running, server, "server", 8000, database.address)
        _serve(running, server, "frozen", 8001)
        yield found


def _require_port(host: Host, port: int) -> None:
    assert wait_until(lambda: host.call(lambda: accepts(host.address, port)), timeout=20)


def _serve(running: ExitStack, host: Host, role: str, port: int, *more: str) -> None:
    script = [sys.executable, "-m", "tests.distant", role, host.address, str(port), *more]
    process = spawn(host.command(*script), cwd=ROOT, env=os.environ)
    running.callback(stop, process, grace=1)
    _require_port(host, port)


@pytest.fixture(scope="module")
def workers(
    hosts: dict[str, Host], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[str]]:
    """Addresses of load hosts with workers: over ssh or, where sshd is missing, by hand."""
    loads = [hosts[name] for name in ("load1", "load2", "load3")]
    folder = tmp_path_factory.mktemp("hosts")
    path = f"{TOOLS / 'locust'}:{ROOT}"
    _write(folder / "bin" / "uvx", UVX.format(path=path, python=sys.executable))
    over_ssh = find_program("sshd") is not None
    with ExitStack() as running, pytest.MonkeyPatch.context() as patch:
        names = [host.name if over_ssh else host.address for host in loads]
        if over_ssh:
            _start_sshd(running, loads, folder)
            patch.setenv("PATH", f"{folder}/client:{os.environ['PATH']}")
        started = workers_on(names, 1, by_hand=not over_ssh)
        bench = hosts["bench"]
        addresses = bench.call(started.__enter__)
        running.callback(bench.call, lambda: started.__exit__(None, None, None))
        if not over_ssh:
            _start_by_hand(running, bench.call(lambda: commands(names, 1)), loads, folder)
        yield list(addresses)
    assert wait_until(lambda: not any(host.pids() for host in loads), timeout=10)


def _start_by_hand(
    running: ExitStack, commands: dict[str, str], hosts: list[Host], folder: Path
) -> None:
    env = os.environ | {"PATH": f"{folder}/bin:{os.environ['PATH']}"}
    for host in hosts:
        command = host.command("sh", "-c", commands[host.address])
        with (folder / f"{host.name}.log").open("w") as log:
            process = spawn(command, cwd=folder, env=env, output=log)
        running.callback(stop, process, grace=1)


def _start_sshd(running: ExitStack, hosts: list[Host], folder: Path) -> None:
    """Start sshd on each host, with a key and settings of its own, and an ssh that knows them."""
    Path("/run/sshd").mkdir(exist_ok=True)
    client, daemon = find_program("ssh"), find_program("sshd")
    key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/key"]
    subprocess.run(key, check=True)
    addresses = {host.name: host.address for host in hosts}
    (folder / "ssh_config").write_text(SSH_CONFIG.format(folder=folder, **addresses))
    (folder / "sshd_config").write_text(SSHD_CONFIG.format(folder=folder))
    _write(folder / "client" / "ssh", SSH.format(ssh=client, folder=folder))
    for host in hosts:
        command = host.command(f"{daemon}", "-D", "-e", "-f", f"{folder}/sshd_config")
        with (folder / f"{host.name}.log").open("w") as log:
            process = spawn(command, cwd=folder, env=os.environ, output=log)
        running.callback(stop, process, grace=1)
        _require_port(host, 2222)


def _write(program: Path, text: str) -> None:
    program.parent.mkdir(exist_ok=True)
    program.write_text(text)
    program.chmod(0o755)


def spec_of(hosts: dict[str, Host], folder: Path, port: int, **changes: Any) -> LoadSpec:
    url = f"http://{hosts['server'].address}:{port}"
    return load_spec(folder, port, "/", url=url, **changes)


@pytest.mark.parametrize(
    ("model", "level"), [("closed", 12.0), ("constant rate", 200.0)], ids=["closed", "rate"]
)
def test_three_machines_measure_as_one_does(
    model: Model, level: float, hosts: dict[str, Host], workers: list[str], tmp_path: Path
) -> None:
    """The server takes as long as its database, on a host of its own."""
    load = spec_of(hosts, tmp_path, 8000, model=model, level=level, duration=3.0)
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
    assert sum(three.per_second) == three.requests


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
