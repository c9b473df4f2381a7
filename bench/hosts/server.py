"""A server that the user runs on another machine, and its CPU time and memory there."""

import json
import select
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from bench.disturbed import Disturbed
from bench.generators.locust import is_loopback
from bench.hosts.ssh import last_line, ssh
from bench.pressure import Counts
from bench.result import Machine
from conformance.subject import Subject
from harness.console import say
from harness.errors import TaskError, UsageError

AGENT = Path(__file__).with_name("agent.py")
_PATIENCE = 20.0
"""Seconds that the agent may take for a reply."""


class Unreadable(Disturbed):
    """A server's CPU time and memory cannot be read."""


@dataclass(frozen=True)
class Reading:
    """What the agent reads."""

    roots: list[int]
    """The ids of the processes that listen on the port, without their child processes."""
    cpu: float
    """Seconds of CPU time of all the server's processes so far."""
    memory: int | None
    """Bytes (PSS); None if they are secret to the user of the agent."""
    threads: list[int]
    """The number of threads of each process."""
    machine: Counts
    """The use of the whole machine so far."""


class Agent:
    """The program that reads a server's CPU time and memory on the server's machine."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Take the agent's process, which has just been started."""
        self._process = process
        self._lock = Lock()
        self._roots: list[int] | None = None
        self.machine = Machine(governor=None, limits={}, **self._reply())
        self._roots = self.read().roots

    def read(self) -> Reading:
        """Read; raise if the server was restarted since the first time."""
        with self._lock:
            assert self._process.stdin
            try:
                print("read", file=self._process.stdin, flush=True)
            except OSError as error:
                raise self._failure() from error
            reply = self._reply()
            found = Reading(**reply | {"machine": Counts(**reply["machine"])})
        if self._roots not in (None, found.roots):
            raise TaskError("the server was restarted, or has ended")
        return found

    def _reply(self) -> dict[str, Any]:
        output = self._process.stdout
        assert output
        if not select.select([output], [], [], _PATIENCE)[0]:
            raise Unreadable(f"no reply within {_PATIENCE:.0f} s")
        line = output.readline()
        if not line:
            raise self._failure()
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _failure(self) -> Unreadable:
        assert self._process.stderr
        self._process.kill()
        return Unreadable(last_line(self._process.stderr.read()))


@contextmanager
def agent_of(url: str) -> Iterator[Agent]:
    """Run the agent on the machine of a server: over ssh, unless it is this one."""
    subject = Subject.at(url)
    script = ["-c", AGENT.read_text(encoding="utf-8"), str(subject.port)]
    command = (
        [sys.executable, *script]
        if is_loopback(subject.host)
        else ssh(subject.host, shlex.join(["python3", *script]))
    )
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is not for it: it ends with its input
    )
    with process:
        try:
            yield Agent(process)
        finally:
            process.terminate()


class Elsewhere:
    """A server that the user runs, usually on another machine; an agent reads its resources."""

    environment: Mapping[str, str] = {}

    def __init__(self, url: str, agent: Agent | None) -> None:
        """Take its address; without an agent, its CPU time and memory are unknown."""
        subject = Subject.at(url)
        self.url, self.host, self.port = subject.url, subject.host, subject.port
        self.agent = agent
        self.has_cpu = agent is not None
        self.is_distant = self.has_cpu and not is_loopback(subject.host)
        self.counts = self._counts if agent else None
        self._threads: list[int] = []
        self.has_memory = agent is not None and agent.read().memory is not None

    def cpu(self) -> float:
        """Seconds of CPU time so far; 0 if unknown."""
        return self.agent.read().cpu if self.agent else 0.0

    def pss(self, *, fresh: bool = True) -> int:
        """Bytes of memory; 0 if unknown. Errors are left to :meth:`cpu`."""
        with suppress(TaskError):
            reading = self.agent.read() if self.agent else None
            self._threads = reading.threads if reading else []
            return (reading and reading.memory) or 0
        return 0

    def threads(self) -> list[int]:
        """The number of threads of each process, as last read."""
        return self._threads

    def _counts(self) -> Counts:
        assert self.agent
        return self.agent.read().machine


@contextmanager
def elsewhere(url: str) -> Iterator[Elsewhere]:
    """The server at an address, with an agent if one can run there."""
    with ExitStack() as held:
        agent = None
        try:
            agent = held.enter_context(agent_of(url))
        except (Unreadable, UsageError) as error:
            say(f"the CPU time and memory of {url} are left out: {error}")
        yield Elsewhere(url, agent)
