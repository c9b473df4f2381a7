"""Runs tasks as a user does, through ``./just``, or in this process."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from click import Command
from click.testing import CliRunner

from bench.cli import main as bench
from conformance.cli import main as conform
from conformance.matrix.cli import main as behaviours
from harness.cli import main as harness
from harness.servers.catalog import Server
from harness.system.ports import accepts
from harness.system.processes import spawn, stop, wait_until
from tests.interrupted import task
from tests.programs import execute


def run(
    *words: str,
    env: Mapping[str, str] | None = None,
    timeout: float = 300,
    errors: int | None = subprocess.PIPE,
) -> subprocess.CompletedProcess[str]:
    """Run a task to completion; with ``errors=None``, its progress is shown."""
    return execute("./just", *words, env=env, timeout=timeout, errors=errors)


# The tasks that are programs of their own; the others are commands of ``harness``
_OWN: dict[str, Command] = {"bench": bench, "behaviours": behaviours, "conform": conform}


def call(*words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a task in this process, which is faster where none of its own is what is tested."""
    program = _OWN.get(words[0], harness)
    rest = words if program is harness else words[1:]
    done = CliRunner().invoke(program, rest, env=env, catch_exceptions=False)
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


def sh(commands: str, folder: Path, env: Mapping[str, str], timeout: float = 900) -> str:
    """Run commands as if pasted into a terminal, until one fails; returns their output."""
    done = subprocess.run(
        ["sh", "-e", "-c", commands],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"{commands}\n{done.stdout}"
    return done.stdout


@contextmanager
def started(
    *words: str, log: Path, until: str, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a task, wait until its output has ``until``, and end it as Ctrl-C does."""
    with task(*words, log=log, env=env) as running:
        running.wait_for(lambda running: until in running.output)
        try:
            yield running.process
        finally:
            if running.process.poll() is None:
                running.signal(signal.SIGINT)
                running.process.wait(30)


def fetch(url: str) -> bytes:
    """The body of a new server's response, which is a 503 while its drivers are connecting."""
    deadline = time.monotonic() + 30
    while True:
        try:
            with urlopen(url, timeout=60) as response:
                return bytes(response.read())
        except URLError as error:
            connecting = isinstance(error, HTTPError) and error.code == 503
            if not connecting or time.monotonic() > deadline:
                raise AssertionError(f"{url}: {error}") from error
        time.sleep(0.1)


@contextmanager
def listening(
    command: list[str], port: int, log: Path, *, cwd: Path, env: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server, which must listen on the port within two minutes, and stop it at the end."""
    with log.open("w") as output:
        process = spawn(command, cwd=cwd, env=env, output=output)
    try:
        wait_until(lambda: accepts("127.0.0.1", port) or process.poll() is not None, timeout=120)
        assert accepts("127.0.0.1", port), f"{command}:\n{log.read_text()}"
        yield process
    finally:
        stop(process)


@contextmanager
def at_once(
    request: pytest.FixtureRequest, work: Callable[[Server], None], most: int = 2
) -> Iterator[dict[str, Future[None]]]:
    """Work on the servers that the selected tests of this module have as their parameter."""
    servers: list[Any] = [
        item.callspec.params["server"]
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.path == request.path
        and hasattr(item, "callspec")
    ]
    with ThreadPoolExecutor(most) as pool:
        yield {server.name: pool.submit(work, server) for server in servers}
        pool.shutdown(cancel_futures=True)
