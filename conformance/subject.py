"""The server under test."""

import json
import math
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from signal import Signals
from subprocess import Popen, TimeoutExpired
from threading import Lock
from urllib.parse import quote, urlsplit

import psutil

import spec
from conformance import address
from conformance.events import emit
from conformance.http import FAILED, TIMEOUT, Connection, Request, Response
from conformance.proxy import Proxy
from harness.errors import UsageError
from harness.servers.catalog import Target
from harness.servers.manifest import Deployment
from harness.servers.running import running
from harness.services import Services
from harness.system.ports import free_port, http_url
from harness.system.processes import wait_until

_CONNECTING = 10.0  # seconds that a driver may take to connect once its server has started
_QUIET = 0.5  # seconds without output or work after which a server counts as done
_IDLE = 0.03  # seconds of CPU time within these that servers use when they have nothing to do

# When the files were modified: long ago, and not on a full second
MODIFIED = 1_750_000_000.25

# For servers that live for minutes, as all that the suite starts do: a JVM that compiles with its
# first tier only takes half the CPU time. Spring Boot's Maven plugin does so in development
# (`optimizedLaunch`).
BRIEF = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}

SECRET = b"outside the folder"
BIG = 100 * 1024 * 1024


@dataclass(frozen=True)
class Subject:
    """A server at an address, ours or not."""

    host: str
    port: int
    parts: frozenset[str] = frozenset(spec.ENDPOINTS)

    @property
    def url(self) -> str:
        return http_url(self.host, self.port)

    @classmethod
    def at(cls, url: str) -> "Subject":
        """The server at ``http://HOST[:PORT]``."""
        wrong = UsageError(f"{url}: give the address as http://HOST:PORT")
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", 80 if parts.port is None else parts.port
            host.encode("idna")  # as a connection does
        except ValueError:
            raise wrong from None
        if parts.scheme != "http" or not (host and port) or parts.path not in ("", "/"):
            raise wrong
        return cls(host, port)

    def keeps(self, response: Response) -> bool:
        """Whether the connection of a response accepts another request."""
        return not response.is_last

    def connect(self, timeout: float = TIMEOUT) -> Connection:
        return Connection(self.host, self.port, timeout)

    def ask(self, request: Request | str, *, timeout: float = TIMEOUT) -> Response:
        """The response to a request, or to a GET of a target, on a connection of its own."""
        with self.connect(timeout) as connection:
            response = connection.request(Request(request) if isinstance(request, str) else request)
            connection.require_end(response)
            return response


@dataclass(frozen=True, kw_only=True)
class Started(Subject):
    """A server whose processes we started."""

    process: Popen[bytes]
    log: Path  # its stdout and stderr

    def processes(self) -> list[psutil.Process]:
        """Its live processes, the parent first."""
        try:
            first = psutil.Process(self.process.pid)
            return [one for one in (first, *first.children(recursive=True)) if is_alive(one)]
        except psutil.NoSuchProcess:
            return []

    def pids(self) -> set[int]:
        """The ids of its live processes."""
        return {one.pid for one in self.processes()}

    def stop(self, number: Signals, within: float) -> int:
        """Send a signal and wait until its first process ends; return the exit status."""
        self.process.send_signal(number)
        try:
            return self.process.wait(within)
        except TimeoutExpired:
            raise AssertionError(f"still running {within:.0f} s after {number.name}") from None

    def settle(self) -> None:
        """Wait until its processes have started: until they use next to no CPU time for a while."""
        _await_quiet(self._cpu_time, _IDLE)

    def _cpu_time(self) -> float:
        """The CPU time in seconds that its live processes have used."""
        used = 0.0
        for one in self.processes():
            with suppress(psutil.NoSuchProcess):
                used += sum(one.cpu_times()[:2])
        return used

    def written(self, start: int = 0) -> str:
        """The log from byte ``start`` on, once it has not grown for a while."""
        _await_quiet(lambda: self.log.stat().st_size)
        return self.log.read_bytes()[start:].decode(errors="replace")


def _await_quiet(measure: Callable[[], float], noise: float = 0) -> None:
    """Wait until a value grows no more for a while, but not for long."""
    before, deadline = -math.inf, time.monotonic() + 10 * _QUIET
    while (now := measure()) - before > noise and time.monotonic() < deadline:
        before = now
        time.sleep(_QUIET)


def is_alive(process: psutil.Process) -> bool:
    """Whether it has not ended; a zombie has, its new parent has yet to reap it."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@dataclass(frozen=True, kw_only=True)
class Controlled(Started):
    """A server with its databases, files and settings under our control."""

    target: Target
    settings: Mapping[str, str]  # of its own; ``environment`` has all
    environment: Mapping[str, str]
    services: Services
    mongodb: Proxy
    postgresql: Proxy
    files: Path

    @property
    def deployment(self) -> Deployment:
        return self.target.deployment

    def upstream_calls(self, request_id: str) -> dict[str, int]:
        """The upstream's count of the calls with this ``X-Request-Id``."""
        found: dict[str, int] = json.loads(
            self._ask_upstream("GET", f"/stats?id={quote(request_id)}")
        )
        return found

    def fail_upstream(self, request_id: str, fault: str) -> None:
        """Make calls with this ``X-Request-Id`` fail."""
        self._ask_upstream("PUT", f"/faults?id={request_id}&fault={fault}")

    def _ask_upstream(self, method: str, target: str) -> bytes:
        response = Subject.at(self.services.slow_api_url).ask(Request(target, method))
        assert response.status in (200, 204), f"{target} of the upstream: {response.status}"
        return response.body

    def keeps(self, response: Response) -> bool:
        """False if the manifest says that it closes after each response, announced or not."""
        return self.deployment.keep_alive and super().keeps(response)

    def another(self, **settings: str) -> AbstractContextManager["Controlled"]:
        """Start another instance of the deployment, with other settings."""
        own = {**self.settings, **settings}
        return start(self.target, self.services, self.log.parent, own)


def served_parts(subject: Subject) -> frozenset[str]:
    """The parts of the contract whose example is answered with 200; others have no behaviours."""
    found = set()
    for part, endpoint in spec.ENDPOINTS.items():
        with suppress(*FAILED):
            if part in subject.parts and subject.ask(endpoint.example).status == 200:
                found.add(part)
    return frozenset(found)


_making = Lock()


@contextmanager
def start(
    target: Target, services: Services, folder: Path, settings: Mapping[str, str] = {}
) -> Iterator[Controlled]:
    """Start a server behind proxies to its databases, with files of its own; stop it at the end."""
    files = folder / "files"
    with _making:
        if not files.exists():
            make_files(files)
    log = folder / f"log-{fresh_name('txt')}"
    with ExitStack() as held:
        mongodb = held.enter_context(Proxy(address.mongodb(services.mongodb_url)).running())
        postgresql = held.enter_context(Proxy(address.postgresql(services.database_url)).running())
        own = {
            **BRIEF,
            "HOST": "127.0.0.1",
            "PORT": str(free_port()),
            "WORKERS": "1",
            "FILES_DIR": str(files),
            "SLOW_API_URL": services.slow_api_url,
            "MONGODB_URL": mongodb.url,
            "DATABASE_URL": postgresql.url,
            **settings,
        }
        output = held.enter_context(log.open("w"))
        server = held.enter_context(
            running(
                target,
                own,
                output=output,
                tell=lambda line: emit(event="waiting", message=line),
            )
        )
        subject = Controlled(
            server.host,
            server.port,
            frozenset(target.server.manifest.parts or spec.ENDPOINTS),
            process=server.process,
            log=log,
            target=target,
            settings=settings,
            environment=server.environment,
            services=services,
            mongodb=mongodb,
            postgresql=postgresql,
            files=files,
        )
        for part, endpoint in spec.ENDPOINTS.items():  # a driver may still be connecting
            if part in subject.parts & {"mongo", "agents"}:
                wait_until(partial(_is_available, subject, endpoint.example), timeout=_CONNECTING)
        yield subject


def _is_available(subject: Subject, target: str) -> bool:
    try:
        return subject.ask(target).status != 503
    except FAILED:
        return True


def fresh_name(extension: str) -> str:
    """A file name that no other run uses."""
    return f"{uuid.uuid4().hex}.{extension}"


def make_files(folder: Path) -> None:
    """Fill a folder with the fixtures, and with files that servers handle differently."""
    folder.mkdir()
    (folder / "folder.txt").mkdir()
    (folder.parent / "outside.txt").write_bytes(SECRET)
    more = {
        ".hidden.txt": b"a dotfile",
        "folder.txt/inside.txt": b"in a folder within",
        "page": b"<!DOCTYPE html><title>A page</title><script></script>",
        "changing.txt": b"old",
        "overwritten.txt": b"old",
    }
    for name, content in (spec.files() | more).items():
        (folder / name).write_bytes(content)
        os.utime(folder / name, (MODIFIED, MODIFIED))
    (folder / "leaving.txt").symlink_to(folder.parent / "outside.txt")
    with (folder / "big.bin").open("wb") as big:
        big.truncate(BIG)
