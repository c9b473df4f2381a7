"""Runs the services for all tasks of this checkout: ``python -m harness.services.supervisor``.

A task's connection is its lease: a service runs while a task that asked for it is connected, and
the supervisor ends with the last task, however that one died. The task that starts it passes on
the lock that only one supervisor can hold, and its own end of a connection.
"""

import json
import resource
import secrets
import signal
import sys
import threading
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener, answer_challenge, deliver_challenge

from harness.scratch import remove_abandoned
from harness.services import KINDS
from harness.services.lease import ADDRESS
from harness.services.private import write_private
from harness.services.running import running
from harness.services.service import Service

_OPEN_FILES = 64_000
"""The limit that MongoDB's documentation recommends (UNIX ulimit Settings)."""


class _Task:
    """A connected task."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def tell(self, kind: str, *values: str) -> None:
        with self._lock, suppress(OSError):  # a task that died is about to be removed
            self._connection.send((kind, *values))


class _Supervised(threading.Thread):
    """A service, which this thread alone starts and stops."""

    def __init__(self, service: Service) -> None:
        super().__init__(daemon=True)
        self._service = service
        self._changed = threading.Condition()
        self._users: set[_Task] = set()
        self._address: str | None = None
        self._closed = False

    def add(self, user: _Task) -> None:
        with self._changed:
            self._users.add(user)
            if self._address:
                user.tell("address", self._service.name, self._address)
            self._changed.notify_all()

    def remove(self, user: _Task) -> None:
        with self._changed:
            self._users.discard(user)
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._users.clear()
            self._closed = True
            self._changed.notify_all()

    def run(self) -> None:
        """Run the service whenever it has users; again if it ends."""
        while self._is_needed():
            self._tell("say", f"starting {self._service.name}")
            try:
                self._run_once()
            except Exception as error:  # its users report it
                with self._changed:
                    self._tell("error", str(error))
                    self._users.clear()

    def _is_needed(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._users or self._closed)
            return not self._closed

    def _run_once(self) -> None:
        def say(text: str) -> None:
            self._tell("say", text)

        with (
            running(self._service, lambda: bool(self._users), say) as (process, port),
            self._changed,
        ):
            self._address = self._service.url(port)
            self._tell("address", self._service.name, self._address)
            while self._users and process.poll() is None:
                self._changed.wait(0.2)
            self._address = None

    def _tell(self, kind: str, *values: str) -> None:
        for user in list(self._users):
            user.tell(kind, *values)


class _Supervisor:
    """Accepts tasks until the last one has gone."""

    def __init__(self) -> None:
        self._services = {kind.name: _Supervised(kind()) for kind in KINDS}
        self._changed = threading.Condition()
        self._tasks = 0
        self._closed = False

    def run(self, first: Connection) -> None:
        """Serve the ``first`` task, and all that come before there is none."""
        for service in self._services.values():
            service.start()
        listener, key = Listener(("127.0.0.1", 0)), secrets.token_hex(32)
        self._begin(first)
        threading.Thread(target=self._accept, args=(listener, key.encode()), daemon=True).start()
        write_private(ADDRESS, json.dumps([listener.address, key]))
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._tasks)
                self._closed = True
        finally:
            ADDRESS.unlink(missing_ok=True)
            for service in self._services.values():
                service.close()
            for service in self._services.values():
                service.join()

    def _accept(self, listener: Listener, key: bytes) -> None:
        while True:
            with suppress(OSError):
                connection = listener.accept()
                threading.Thread(target=self._admit, args=(connection, key), daemon=True).start()

    def _admit(self, connection: Connection, key: bytes) -> None:
        try:
            deliver_challenge(connection, key)
            answer_challenge(connection, key)
        except (AuthenticationError, EOFError, OSError):
            connection.close()
        else:
            self._begin(connection)

    def _begin(self, connection: Connection) -> None:
        with self._changed:
            if self._closed:
                return connection.close()
            self._tasks += 1
        threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        """Hold a task's lease until it says goodbye or its connection closes."""
        task, services = _Task(connection), list[_Supervised]()
        try:
            services += [self._services[name] for name in connection.recv()]
            for service in services:
                service.add(task)
            connection.recv()
        except (EOFError, OSError, KeyError):
            pass
        finally:
            for service in services:
                service.remove(task)
            connection.close()
            with self._changed:
                self._tasks -= 1
                self._changed.notify_all()


def _raise_limits() -> None:
    """Set the limit of open files, so that it does not depend on the task that came first."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    limit = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    _raise_limits()
    _Supervisor().run(Connection(int(sys.argv[1])))
    remove_abandoned()
