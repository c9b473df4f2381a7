"""The server under test."""

import math
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from subprocess import Popen
from threading import Lock
from urllib.parse import urlsplit

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
_QUIET = 0.5  # seconds without output after which a log counts as complete
_IDLE = 0.03  # seconds of CPU time within these that servers use when they have nothing to do

# When the files were modified: long ago, and not on a full second
MODIFIED = 1_750_000_000.25
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
        """Its address."""
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
        """A new connection."""
        return Connection(self.host, self.port, timeout)

    def ask(
        self,
        target: str,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        timeout: float = TIMEOUT,
    ) -> Response:
        """The response to a request on a connection of its own."""
        request = Request(target, method, tuple((headers or {}).items()), body)
        with self.connect(timeout) as connection:
            response = connection.request(request)
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

    def settle(self) -> None:
        """Wait until its processes have started: until they use next to no CPU time for a while."""
        before, deadline = -math.inf, time.monotonic() + 10 * _QUIET
        while (used := self._cpu_time()) - before > _IDLE and time.monotonic() < deadline:
            before = used
            time.sleep(_QUIET)

    def _cpu_time(self) -> float:
        """The CPU time in seconds that its live processes have used."""
        used = 0.0
        for one in self.processes():
            with suppress(psutil.NoSuchProcess):
                used += sum(one.cpu_times()[:2])
        return used

    def written(self, start: int = 0) -> str:
        """The log from byte ``start`` on, once it has not grown for a while."""
        size, deadline = -1, time.monotonic() + 10 * _QUIET
        while size != (size := self.log.stat().st_size) and time.monotonic() < deadline:
            time.sleep(_QUIET)
        return self.log.read_bytes()[start:].decode(errors="replace")


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
        """Its deployment in the manifest."""
        return self.target.deployment

    def keeps(self, response: Response) -> bool:
        """False if the manifest says that it closes after each response, announced or not."""
        return self.deployment.keep_alive and super().keeps(response)

    def another(self, **settings: str) -> AbstractContextManager["Controlled"]:
        """Start another instance of the deployment, with other settings."""
        return start(self.target, self.services, self.log.parent, {**self.settings, **settings})


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
    log = folder / f"log-{free_port()}.txt"
    with ExitStack() as held:
        mongodb = held.enter_context(Proxy(address.mongodb(services.mongodb_url)).running())
        postgresql = held.enter_context(Proxy(address.postgresql(services.database_url)).running())
        own = {
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
                target, own, output=output, tell=lambda line: emit(event="waiting", message=line)
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
        _await_databases(subject)
        yield subject


def _await_databases(subject: Controlled) -> None:
    """Wait while the databases' endpoints answer 503: a driver may still be connecting."""
    for part in ("mongo", "agents"):
        if part in subject.parts:
            example = spec.ENDPOINTS[part].example
            wait_until(partial(_is_available, subject, example), timeout=_CONNECTING)


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
        "changing.txt": b"old",
        "overwritten.txt": b"old",
    }
    for name, content in (spec.files() | more).items():
        (folder / name).write_bytes(content)
        os.utime(folder / name, (MODIFIED, MODIFIED))
    (folder / "leaving.txt").symlink_to(folder.parent / "outside.txt")
    with (folder / "big.bin").open("wb") as big:
        big.truncate(BIG)
