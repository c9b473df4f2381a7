"""Load from several machines, on a server and a database of their own."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bench.generators import generate
from bench.generators.load import LoadResult, LoadSpec
from bench.hosts.workers import workers_on
from bench.workload import Model
from harness.paths import ROOT, TOOLS
from harness.ports import accepts
from harness.processes import spawn, stop, wait_until
from harness.programs import find_program
from harness.wheel import install_wheel
from tests import distant
from tests.namespaces import Host, network
from tests.test_constant_rate import load_spec, mine

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
    Hostname {addresses[0]}
Host load2
    Hostname {addresses[1]}
Host load3
    Hostname {addresses[2]}
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


def _serve(running: ExitStack, host: Host, role: str, port: int, *more: str) -> None:
    script = [sys.executable, "-m", "tests.distant", role, host.address, str(port), *more]
    process = spawn(host.command(*script), cwd=ROOT, env=os.environ)
    running.callback(stop, process, grace=1)
    assert wait_until(lambda: host.call(lambda: accepts(host.address, port)), timeout=20)


@pytest.fixture(scope="module")
def workers(hosts: dict[str, Host], tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Workers on the load hosts: over ssh, or where sshd is missing as by hand."""
    loads = [hosts[name] for name in ("load1", "load2", "load3")]
    folder = tmp_path_factory.mktemp("ssh")
    with ExitStack() as running, pytest.MonkeyPatch.context() as patch:
        by_hand = find_program("sshd") is None
        if by_hand:
            pass
        else:
            _start_sshd(running, loads, folder)
            patch.setenv("PATH", f"{folder}/client:{os.environ['PATH']}")
        names = [host.address if by_hand else host.name for host in loads]
        started = workers_on(names, 1, by_hand=by_hand)
        addresses = hosts["bench"].call(started.__enter__)
        yield list(addresses)
        hosts["bench"].call(lambda: started.__exit__(None, None, None))
    assert wait_until(lambda: not any(host.pids() for host in loads), timeout=10)


def _start_sshd(running: ExitStack, hosts: list[Host], folder: Path) -> None:
    Path("/run/sshd").mkdir(exist_ok=True)
    program, client = find_program("sshd"), find_program("ssh")
    assert program
    key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/key"]
    subprocess.run(key, check=True)
    addresses = [host.address for host in hosts]
    (folder / "ssh_config").write_text(SSH_CONFIG.format(folder=folder, addresses=addresses))
    (folder / "sshd_config").write_text(SSHD_CONFIG.format(folder=folder))
    _program(folder / "client" / "ssh", SSH.format(ssh=client, folder=folder))
    path = f"{TOOLS / 'locust'}:{ROOT}"
    _program(folder / "bin" / "uvx", UVX.format(path=path, python=sys.executable))
    for host in hosts:
        daemon = host.command(program, "-D", "-e", "-f", f"{folder}/sshd_config")
        with (folder / f"{host.name}.log").open("w") as log:
            process = spawn(daemon, cwd=folder, env=os.environ, output=log)
        running.callback(stop, process, grace=1)
        assert wait_until(lambda host=host: host.call(lambda: accepts(host.address, 2222)), timeout=20)


def _program(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def spec_of(folder: Path, hosts: dict[str, Host], port: int, **changes: object) -> LoadSpec:
    return replace(load_spec(folder, port, "/", **changes), url=f"http://{hosts['server'].address}:{port}")


@pytest.mark.parametrize(
    ("model", "level", "rate"), [("closed", 30.0, 30 / distant.DELAY), ("constant rate", 200.0, 200)]
)
def test_as_from_one(
    model: Model, level: float, rate: float, hosts: dict[str, Host], workers: list[str], tmp_path: Path
) -> None:
    load = spec_of(tmp_path, hosts, 8000, model=model, level=level, duration=3.0)
    for _ in range(3):
        one, three = (
            hosts["bench"].call(lambda: generate(load, on)) for on in ((), workers)
        )
        print(one.requests, one.latency, three.requests, three.latency)
    assert one.errors.total == three.errors.total == 0


def test_frozen(hosts: dict[str, Host], workers: list[str], tmp_path: Path) -> None:
    load = spec_of(tmp_path, hosts, 8001, level=100.0, duration=12.0)
    result = hosts["bench"].call(lambda: generate(load, workers))
    print(result.latency, result.requests)
