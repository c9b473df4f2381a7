"""Starts a service for the first task that needs it and stops it after the last.

There are three locks. A task holds ``users`` (shared) while it uses the service. The keeper, a
process of its own, holds ``lock`` while the service runs, and stops it once it can lock ``users``
exclusively. The service inherits ``alive``, which is therefore free only when all its processes
have ended. The kernel releases a lock when its holder dies, so that a killed task or keeper does
not block the next.
"""

import contextlib
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from harness.console import say
from harness.errors import TaskError, UsageError
from harness.locks import claim, is_locked, locked
from harness.paths import ROOT
from harness.ports import free_port, is_free
from harness.processes import spawn, stop, wait_until
from harness.scratch import remove_abandoned
from harness.services.private import write_private
from harness.services.service import Service

START = 60.0
"""Seconds that a service may take to start."""
_STOPPING = 5.0
"""Seconds that a service may take to stop after the last task."""

_MONGODB_NOTE = '"s":"I"'
"""What mongod's log has in lines that are neither errors nor warnings."""
_OPEN_FILES = 64_000
"""The limit that MongoDB's documentation recommends (UNIX ulimit Settings)."""


def launch(services: Sequence[Service]) -> dict[str, str]:
    """Start the ``services`` that are not running; return the address for each setting.

    The caller must hold their ``users`` locks.
    """
    before = [_recorded_port(service) for service in services]
    for service in services:
        with locked(service.folder / "starting"):
            if not is_running(service):
                _start_keeper(service)
    addresses = {service.setting: _address(service) for service in services}
    for service, port in zip(services, before, strict=True):
        if port and port != (now := _recorded_port(service)):
            say(f"{service.name}: port {port} is taken; it uses port {now} from now on")
    return addresses


def is_running(service: Service) -> bool:
    """Whether its keeper is running."""
    return is_locked(service.folder / "lock")


def _start_keeper(service: Service) -> None:
    service.install()
    (service.folder / "url").unlink(missing_ok=True)
    say(f"starting {service.name}")
    with (service.folder / "log").open("w") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "harness.services", service.name],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    wait_until(lambda: is_running(service) or keeper.poll() is not None, timeout=START)


def _address(service: Service) -> str:
    """Wait for its address; fail as soon as its keeper gives up."""
    url = service.folder / "url"
    wait_until(lambda: url.exists() or not is_running(service), timeout=4 * START)
    try:
        return url.read_text()
    except FileNotFoundError:
        log = service.folder / "log"
        lines = log.read_text(errors="replace").splitlines()
        end = "\n".join([line for line in lines if _MONGODB_NOTE not in line][-8:])
        advice = " If its data is damaged, `just reset --data` deletes it." * service.keeps_data
        raise TaskError(
            f"{service.name} does not start.{advice} The end of {log}:\n{end}"
        ) from None


def delete_data(service: Service) -> None:
    """Delete the data of a service that no task uses."""
    with locked(service.folder / "starting"):
        if not wait_until(lambda: not _is_there(service), timeout=_STOPPING):
            raise UsageError(f"a task uses {service.name}: end it before its data is deleted")
        service.reset()


def _is_there(service: Service) -> bool:
    """Whether its keeper or one of its processes is running."""
    return is_running(service) or is_locked(service.folder / "alive")


def run_keeper(service: Service) -> int:
    """Run ``service`` until no task uses it: the keeper's main function."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    _raise_limits()
    users = None
    with locked(service.folder / "lock"), _running(service) as process:
        while process.poll() is None and not users:
            time.sleep(0.2)
            users = claim(service.folder / "users")
    remove_abandoned()
    # New tasks wait until this process releases users, and then start another keeper.
    return 0 if users else 1


def _raise_limits() -> None:
    """Set the limit of open files, so that it does not depend on the task that came first."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    limit = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


@contextmanager
def _running(service: Service) -> Iterator[subprocess.Popen[bytes]]:
    url = service.folder / "url"
    with locked(service.folder / "alive") as alive:
        process, port = _start(service, alive.fileno())
        try:
            (service.folder / "port").write_text(str(port))
            write_private(url, service.url(port))
            yield process
        finally:
            url.unlink(missing_ok=True)
            stop(process, stop_signal=service.stop_signal)


def _start(service: Service, alive: int) -> tuple[subprocess.Popen[bytes], int]:
    for _ in range(2):  # another process may take the port in the meantime
        print(f"starting {service.name}", flush=True)
        service.prepare()
        port = _choose_port(service)
        process = spawn(
            service.command(port),
            cwd=service.working_folder,
            env=service.environment(),
            user=service.user,
            stop_signal=service.stop_signal,
            keep_open=(alive,),
        )
        try:
            wait_until(lambda: process.poll() is not None or service.is_ready(port), timeout=START)  # noqa: B023
            if process.poll() is None and service.is_ready(port):
                return process, port
        except BaseException:
            stop(process, stop_signal=service.stop_signal)
            raise
        if process.poll() is None:
            stop(process, stop_signal=service.stop_signal)
            raise TaskError(f"{service.name} does not answer within {START:.0f} s")
    raise TaskError(f"{service.name} ended during startup: exit status {process.returncode}")


def _choose_port(service: Service) -> int:
    """The same port as last time, if it is free, so that an ``.env`` can hold the address."""
    port = _recorded_port(service)
    return port if port and is_free(port) else free_port()


def _recorded_port(service: Service) -> int | None:
    with contextlib.suppress(FileNotFoundError, ValueError):
        return int((service.folder / "port").read_text())
    return None
