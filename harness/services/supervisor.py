"""Runs the services for all tasks of this checkout: ``python -m harness.services.supervisor``.

A task's connection is its lease: a service runs while a task that asked for it is connected, and
the supervisor ends with the last task, however that one died. The task that starts it passes on
the lock that only one supervisor can hold, and its own end of a connection.
"""

import json
import secrets
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener, answer_challenge, deliver_challenge

from harness.services import KINDS
from harness.services.lease import ADDRESS
from harness.services.process import recorded_port, running
from harness.services.service import Service
from harness.system.files import write_whole
from harness.system.processes import raise_limits
from harness.system.scratch import remove_abandoned


class _Supervisor:
    """Accepts tasks until the last one has gone."""

    def __init__(self, first: Connection) -> None:
        self._tasks = {first}
        self._users = {kind.name: set[Connection]() for kind in KINDS}
        self._addresses: dict[str, str] = {}
        self._closed = False
        self._changed = threading.Condition()  # Guards all these, and what is sent

    def run(self) -> None:
        """Serve the first task, and all that come before there is none."""
        keepers = [_start(self._keep, kind()) for kind in KINDS]
        listener, key = Listener(("127.0.0.1", 0)), secrets.token_hex(32)
        _start(self._serve, *self._tasks)
        _start(self._accept, listener, key.encode())
        write_whole(ADDRESS, json.dumps([listener.address, key]), private=True)
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._tasks)
                self._closed = True  # whoever comes now asks the next supervisor
        finally:
            ADDRESS.unlink(missing_ok=True)
            with self._changed:
                self._closed = True
                for users in self._users.values():
                    users.clear()
                self._changed.notify_all()
            for keeper in keepers:
                keeper.join()

    def _accept(self, listener: Listener, key: bytes) -> None:
        while True:
            with suppress(OSError):
                _start(self._serve, listener.accept(), key)

    def _serve(self, task: Connection, key: bytes | None = None) -> None:
        """Hold a task's lease until it says goodbye or its connection closes."""
        with task, suppress(AuthenticationError, EOFError, OSError):
            if key:
                deliver_challenge(task, key)
                answer_challenge(task, key)
            try:
                self._add(task, task.recv())
                task.recv()
            finally:
                with self._changed:
                    for tasks in (self._tasks, *self._users.values()):
                        tasks.discard(task)
                    self._changed.notify_all()

    def _add(self, task: Connection, names: list[str]) -> None:
        with self._changed:
            if self._closed:
                raise EOFError
            self._tasks.add(task)
            for name in names:
                self._users[name].add(task)
                if name in self._addresses:
                    task.send(("address", name, self._addresses[name]))
            self._changed.notify_all()

    def _keep(self, service: Service) -> None:
        """Run a service whenever it has users; again if it ends."""
        name, users = service.name, self._users[service.name]
        while True:
            with self._changed:
                self._changed.wait_for(lambda: users or self._closed)
                if self._closed:
                    return
                self._tell(name, "say", f"starting {name}")
            before = recorded_port(service)
            try:
                with running(service, lambda: bool(users)) as (process, port), self._changed:
                    if before not in (None, port):
                        now = f"port {before} is taken; it uses port {port} from now on"
                        self._tell(name, "say", f"{name}: {now}")
                    self._addresses[name] = service.url(port)
                    self._tell(name, "address", name, self._addresses[name])
                    while users and process.poll() is None:
                        self._changed.wait(0.2)
                    del self._addresses[name]
            except Exception as error:  # its users report it
                with self._changed:
                    self._tell(name, "error", str(error))
                    users.clear()

    def _tell(self, name: str, *message: str) -> None:
        for user in self._users[name]:
            with suppress(OSError):  # it has died, and is about to be removed
                user.send(message)


def _start(run: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=run, args=arguments, daemon=True)
    thread.start()
    return thread


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    raise_limits()  # it must not depend on the task that came first
    _Supervisor(Connection(int(sys.argv[1]))).run()
    remove_abandoned()
