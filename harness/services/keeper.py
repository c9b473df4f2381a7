"""Starts a service for the first task that needs it and stops it after the last.

A task holds ``users`` (shared) while it uses the service. The keeper, a process of its own, holds
``lock`` while the service runs and stops it once it can take ``users`` for itself. The service
inherits ``alive``, so that this is free only when all its processes have ended. The kernel lets go
of each when its holder dies: a killed task or keeper leaves nothing that blocks the next.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from harness.console import say
from harness.errors import TaskError
from harness.locks import claim, is_locked, locked
from harness.paths import ROOT
from harness.ports import free_port
from harness.processes import spawn, stop, wait_until
from harness.services.service import Service

START = 30.0
"""Seconds that a service may take to answer."""


@contextmanager
def keep(services: Sequence[Service]) -> Iterator[dict[str, str]]:
    """Use ``services`` for a while; gives each one's setting and address."""
    with ExitStack() as held:
        for service in services:
            held.enter_context(locked(service.folder / "users", shared=True))
        for service in services:
            _launch(service)
        yield {service.setting: _address(service) for service in services}


def _launch(service: Service) -> None:
    with locked(service.folder / "starting"):
        if is_locked(service.folder / "lock"):
            return
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
        wait_until(
            lambda: is_locked(service.folder / "lock") or keeper.poll() is not None, timeout=START
        )


def _address(service: Service) -> str:
    """Its address as soon as it answers, an error as soon as its keeper has given up."""
    url = service.folder / "url"
    wait_until(lambda: url.exists() or not is_locked(service.folder / "lock"), timeout=3 * START)
    if not url.exists():
        log = service.folder / "log"
        end = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
        raise TaskError(f"{service.name} does not start; {log} ends:\n{end}")
    return url.read_text()


def run_keeper(service: Service) -> int:
    """Run ``service`` until nobody uses it: the keeper's whole life."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    users = None
    with locked(service.folder / "lock"), _running(service) as process:
        while process.poll() is None and not users:
            time.sleep(0.2)
            users = claim(service.folder / "users")
    # Tasks that come now wait for this process' hold on users to end, and then start a keeper.
    return 0 if users else 1


@contextmanager
def _running(service: Service) -> Iterator[subprocess.Popen[bytes]]:
    url = service.folder / "url"
    with locked(service.folder / "alive") as alive:
        process, port = _start(service, alive.fileno())
        try:
            draft = url.with_suffix(".new")
            draft.write_text(service.url(port))
            draft.replace(url)
            yield process
        finally:
            url.unlink(missing_ok=True)
            stop(process, stop_signal=service.stop_signal)


def _start(service: Service, alive: int) -> tuple[subprocess.Popen[bytes], int]:
    for attempt in ("with the data that are there", "with new data"):
        print(f"starting {service.name} {attempt}", flush=True)
        service.prepare()
        port = free_port()
        process = spawn(
            service.command(port),
            cwd=service.data,
            env=service.environment(),
            user=service.user,
            stop_signal=service.stop_signal,
            keep_open=(alive,),
        )
        wait_until(lambda: process.poll() is not None or service.is_ready(port), timeout=START)  # noqa: B023
        if process.poll() is None:
            return process, port
        service.reset()
    raise TaskError(f"{service.name} ends at once, exit status {process.returncode}")
