"""Machines that generate the load: each runs Locust's workers, which this machine's master uses.

They need only uv. A worker takes one load after another, and the locustfile with it.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import Popen

from bench.generators.locust import version, worker_options
from bench.hosts.ssh import address_of, last_line, ssh
from harness.console import say
from harness.errors import UsageError
from harness.processes import spawn, stop
from harness.scratch import scratch

_PATH = 'PATH="$HOME/.local/bin:$PATH"'
"""Where uv installs itself, which is often on the PATH of interactive shells only."""


@contextmanager
def workers_on(hosts: Sequence[str], threads: int, *, by_hand: bool) -> Iterator[tuple[str, ...]]:
    """Start workers on these hosts over ssh, and stop them at the end of the block.

    Yields the hosts' addresses. ``by_hand`` prints the commands instead, for the user to run.
    """
    if not hosts:
        yield ()
    elif by_hand:
        say("run each command on its machine:")
        for host, loop in commands(hosts, threads).items():
            say(f"  {host}: {loop}")
        yield tuple(hosts)
    else:
        addresses = tuple(map(address_of, hosts))
        with scratch("workers") as folder, ExitStack() as running:
            _require_locust(hosts, folder)
            for host, address in zip(hosts, addresses, strict=True):
                again = f"while :; do {_uvx(worker_options(address, threads))}; sleep 1; done"
                # A terminal, as its end is what stops the command.
                command = ssh(host, f"{_PATH}; {again}", "-tt")
                process = _start(command, folder / f"{address}.log", folder)
                running.callback(stop, process, grace=2)
            yield addresses


def commands(hosts: Sequence[str], threads: int) -> dict[str, str]:
    """The command for each host, which ends a few minutes after the last load."""
    return {host: f"while {_uvx(worker_options(host, threads))}; do :; done" for host in hosts}


def _require_locust(hosts: Sequence[str], folder: Path) -> None:
    """Install Locust on all hosts at once; raise if one of them cannot run it."""
    say(f"preparing {', '.join(hosts)}")
    logs = [folder / f"{number}.txt" for number in range(len(hosts))]
    with ExitStack() as running:
        processes = []
        for host, log in zip(hosts, logs, strict=True):
            command = ssh(host, f"{_PATH}; {_uvx(['--version'])}")
            processes.append(_start(command, log, folder))
            running.callback(stop, processes[-1], grace=2)
        for host, log, process in zip(hosts, logs, processes, strict=True):
            if process.wait():
                raise UsageError(
                    f"{host} cannot run Locust over ssh: {last_line(log.read_text())}\n"
                    "each host needs uv, and `ssh HOST` must work without a password; "
                    "or use --by-hand and start the workers yourself"
                )


def _start(command: Sequence[str], log: Path, folder: Path) -> Popen[bytes]:
    with log.open("w") as output:
        return spawn(command, cwd=folder, env=os.environ, output=output)


def _uvx(arguments: Sequence[str]) -> str:
    return f"uvx locust@{version()} {' '.join(arguments)}"
