"""Restarts services that end while a task uses them."""

import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from harness.console import say
from harness.errors import TaskError
from harness.services.fixtures import fill
from harness.services.keeper import is_running, launch
from harness.services.service import Service

_INTERVAL = 0.5


@contextmanager
def watched(services: Sequence[Service], addresses: Mapping[str, str]) -> Iterator[None]:
    """Keep ``services`` running at their ``addresses`` (by setting) for the length of the block.

    Every task that uses a service watches it, and the first to notice that it ended restarts it.
    The task is ended by SIGTERM if the service cannot be restarted at the same address.
    """
    done = threading.Event()
    watch = threading.Thread(target=_watch, args=(services, addresses, done), daemon=True)
    watch.start()
    try:
        yield
    finally:
        done.set()
        watch.join()


def _watch(
    services: Sequence[Service], addresses: Mapping[str, str], done: threading.Event
) -> None:
    while not done.wait(_INTERVAL):
        for service in services:
            if is_running(service):
                continue
            try:
                _restart(service, addresses[service.setting])
            except TaskError as error:
                say(f"error: {error}")
                # A real signal: _thread.interrupt_main() does not wake a thread that waits.
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
                return
            say(f"{service.name} had ended; it is running again at the same address")


def _restart(service: Service, address: str) -> None:
    for attempts_left in (2, 1, 0):
        try:
            started = launch([service])
            if started[service.setting] != address:
                raise TaskError(f"{service.name} has another address now: start this task again")
            return fill(started)
        except TaskError:  # it may have ended again
            if not attempts_left:
                raise
            time.sleep(_INTERVAL)
