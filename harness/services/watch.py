"""Starts a service again that ended while a task uses it."""

import _thread
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from harness.console import say
from harness.errors import TaskError
from harness.services.fixtures import fill
from harness.services.keeper import is_running, launch
from harness.services.service import Service

_INTERVAL = 0.5


@contextmanager
def watched(services: Sequence[Service]) -> Iterator[None]:
    """Keep ``services`` running at their addresses for the length of the block.

    Every task that uses a service watches it: the first to see that it ended starts it. The task is
    interrupted if it does not start.
    """
    done = threading.Event()
    watch = threading.Thread(target=_watch, args=(services, done), daemon=True)
    watch.start()
    try:
        yield
    finally:
        done.set()
        watch.join()


def _watch(services: Sequence[Service], done: threading.Event) -> None:
    while not done.wait(_INTERVAL):
        for service in services:
            if is_running(service):
                continue
            say(f"{service.name} has ended; it is started again at the same address")
            try:
                fill(launch([service]))
            except TaskError as error:
                say(f"error: {error}")
                _thread.interrupt_main()
                return
