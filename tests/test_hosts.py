"""Load from several machines, on a server and a database of their own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bench.generators import generate, locust
from bench.generators.load import LoadSpec
from bench.hosts.server import Reading, agent_of
from bench.hosts.workers import commands, workers_on
from bench.workload import Model
from harness.errors import UsageError
from harness.paths import ROOT, TOOLS
from harness.ports import accepts
from harness.processes import spawn, stop, wait_until
from harness.programs import find_program
from harness.toolchains import require
from harness.wheel import install_wheel
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
SSH = '#!/bin/sh\nexec {ssh} -F {folder}/ssh_config "$@"\n'
SSH_CONFIG = """
IdentityFile {folder}/key
UserKnownHostsFile /dev/null
StrictHostKeyChecking no
LogLevel ERROR
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


def _require_port(host: Host, port: int) -> None:
    assert wait_until(lambda: host.call(lambda: accepts(host.address, port)), timeout=20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hosts' folder, with a uvx that runs the Locust of this repository."""
    folder = tmp_path_factory.mktemp("hosts")
    path = f"{TOOLS / 'locust'}:{ROOT}"
    _write(folder / "bin" / "uvx", UVX.format(folder=folder, path=path, python=sys.executable))
    return folder


@pytest.fixture(scope="module")
def ssh(hosts: dict[str, Host], folder: Path) -> Iterator[bool]:
    """Whether ssh leads to the hosts, which it does unless sshd is missing here."""
    with ExitStack() as running, pytest.MonkeyPatch.context() as patch:
        if daemon := find_program("sshd"):
            patch.setenv("PATH", f"{folder}/client:{os.environ['PATH']}")
            _start_sshd(running, daemon, hosts, folder)
        yield daemon is not None


@pytest.fixture(scope="module")
def workers(hosts: dict[str, Host], ssh: bool, folder: Path) -> Iterator[list[str]]:
    """Addresses of load hosts with workers: over ssh or else by hand."""
    loads, bench = [hosts[name] for name in LOADS], hosts["bench"]
    names = [host.name if ssh else host.address for host in loads]
    with ExitStack() as running:
        before = [len(host.pids()) for host in loads]
        started = workers_on(names, 1, by_hand=not ssh)
        addresses = bench.call(started.__enter__)
        running.callback(bench.call, lambda: started.__exit__(None, None, None))
        if not ssh:
            _start_by_hand(running, bench.call(lambda: commands(names, 1)), loads, folder)
        yield list(addresses)
    assert wait_until(lambda: [len(host.pids()) for host in loads] == before, timeout=10)


def _start_by_hand(
    running: ExitStack, commands: dict[str, str], hosts: list[Host], folder: Path
) -> None:
    env = os.environ | {"PATH": f"{folder}/bin:{os.environ['PATH']}"}
    for host in hosts:
        command = host.command("sh", "-c", commands[host.address])
        with (folder / f"{host.name}.log").open("w") as log:
            process = spawn(command, cwd=folder, env=env, output=log)
        running.callback(stop, process, grace=1)


def _start_sshd(running: ExitStack, daemon: str, hosts: dict[str, Host], folder: Path) -> None:
    """Start sshd on each host, with a key and settings of its own, and an ssh that knows them."""
    Path("/run/sshd").mkdir(exist_ok=True)
    key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/key"]
    subprocess.run(key, check=True)
    _write(folder / "client" / "ssh", SSH.format(ssh=find_program("ssh"), folder=folder))
    addresses = {name: host.address for name, host in hosts.items()}
    (folder / "ssh_config").write_text(SSH_CONFIG.format(folder=folder, **addresses))
    (folder / "sshd_config").write_text(SSHD_CONFIG.format(folder=folder))
    for host in (hosts[name] for name in (*LOADS, "server")):
        command = host.command(daemon, "-D", "-e", "-f", f"{folder}/sshd_config")
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


def test_the_use_of_a_server_is_read_over_ssh(
    hosts: dict[str, Host], ssh: bool, tmp_path: Path
) -> None:
    if not ssh:
        pytest.skip("sshd is missing: apt install openssh-server")
    bench, load = hosts["bench"], spec_of(hosts, tmp_path, 8000, model="closed", level=12.0)

    def measure() -> tuple[Reading, Reading]:
        with agent_of(load.url) as agent:
            before = agent.read()
            generate(load)
            return before, agent.read()

    before, after = bench.call(measure)
    assert after.cpu > before.cpu > 0
    assert after.memory
    assert len(after.threads) == 1
    assert 0 < after.machine.clock - before.machine.clock < 60


def test_a_host_that_cannot_run_workers(
    hosts: dict[str, Host], ssh: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start() -> None:
        with workers_on(["load1", "198.18.0.99"], 1, by_hand=False):
            pass

    if not ssh:
        pytest.skip("sshd is missing: apt install openssh-server")
    with pytest.raises(UsageError, match=r"cannot run Locust over ssh: .*No route"):
        hosts["bench"].call(start)
