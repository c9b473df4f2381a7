"""Runs the program of one service."""

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from harness.errors import TaskError
from harness.locks import locked
from harness.ports import free_port, is_free
from harness.processes import ending, spawn, stop, wait_until
from harness.services.service import Service

START = 60.0
"""Seconds that a service may take to start."""

_MONGODB_NOTE = '"s":"I"'
"""What mongod's log has in lines that are neither errors nor warnings."""


@contextmanager
def running(
    service: Service,
    wanted: Callable[[], bool] = lambda: True,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run ``service``; yields its process and port. It stops early if it is not ``wanted``."""
    service.folder.mkdir(parents=True, exist_ok=True)
    # All its processes inherit the lock, which is therefore free only when they have ended.
    with locked(service.folder / "alive") as alive, (service.folder / "log").open("w") as log:
        before = _recorded_port(service)
        try:
            process, port = _start(service, wanted, alive.fileno(), log)
        except TaskError as error:
            raise _explained(service, error) from error
        try:
            (service.folder / "port").write_text(str(port))
            if before and port != before:
                tell(f"{service.name}: port {before} is taken; it uses port {port} from now on")
            yield process, port
        finally:
            stop(process, stop_signal=service.stop_signal)


def _start(
    service: Service, wanted: Callable[[], bool], alive: int, log: IO[str]
) -> tuple[subprocess.Popen[bytes], int]:
    for _ in range(2):  # another process may take the port in the meantime
        service.prepare()
        port = _choose_port(service)
        process = spawn(
            service.command(port),
            cwd=service.working_folder,
            env=service.environment(),
            user=service.user,
            stop_signal=service.stop_signal,
            keep_open=(alive,),
            output=log,
        )
        ready = False
        try:

            def settled() -> bool:
                return process.poll() is not None or not wanted() or service.is_ready(port)  # noqa: B023

            answers = wait_until(settled, timeout=START) and service.is_ready(port)
            ready = answers and process.poll() is None
            if ready:
                return process, port
            if process.poll() is None:
                raise TaskError(f"{service.name} does not answer within {START:.0f} s")
        finally:
            if not ready:
                stop(process, stop_signal=service.stop_signal)
    raise TaskError(f"{service.name} ended during startup: {ending(process.returncode)}")


def _choose_port(service: Service) -> int:
    """The same port as last time, if it is free, so that an ``.env`` can hold the address."""
    port = _recorded_port(service)
    return port if port and is_free(port) else free_port()


def _recorded_port(service: Service) -> int | None:
    with contextlib.suppress(FileNotFoundError, ValueError):
        return int((service.folder / "port").read_text())
    return None


def _explained(service: Service, error: TaskError) -> TaskError:
    """The error with the end of the log, and with what to do."""
    log = service.folder / "log"
    lines = log.read_text(errors="replace").splitlines()
    end = "\n".join([line for line in lines if _MONGODB_NOTE not in line][-8:])
    advice = " If its data is damaged, `just reset --data` deletes it." * service.keeps_data
    return TaskError(
        f"{service.name} does not start.{advice} The end of {log}:\n{end}\nerror: {error}"
    )
