"""Runs the program of one service."""

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from harness.errors import TaskError
from harness.services.service import Database, Service
from harness.system.locks import locked
from harness.system.ports import free_port, is_free
from harness.system.processes import ending, spawn, stop, wait_until

START = 60.0  # Seconds that a service may take to start

_MONGODB_NOTE = '"s":"I"'  # What mongod's log has in lines that are neither errors nor warnings


@contextmanager
def running(
    service: Service, wanted: Callable[[], bool] = lambda: True
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run ``service``; yields its process and port. The start ends once it is not ``wanted``."""
    service.folder.mkdir(parents=True, exist_ok=True)
    log = service.folder / "log"
    # All its processes inherit the lock, which is therefore free only when they have ended.
    with locked(service.folder / "alive") as alive, log.open("w") as output:
        for attempts_left in (1, 0):  # another process may take the port in the meantime
            service.prepare()
            port = _choose_port(service)
            process = spawn(
                service.command(port),
                cwd=service.working_folder,
                env=service.environment(),
                user=service.user,
                stop_signal=service.stop_signal,
                keep_open=(alive.fileno(),),
                output=output,
            )
            try:
                if _is_ready(service, process, port, wanted):
                    (service.folder / "port").write_text(str(port))
                    yield process, port
                    return
                if process.poll() is None or not attempts_left:
                    raise _failure(service, process.poll())
            finally:
                stop(process, stop_signal=service.stop_signal)


def _is_ready(
    service: Service, process: subprocess.Popen[bytes], port: int, wanted: Callable[[], bool]
) -> bool:
    def settled() -> bool:
        return process.poll() is not None or not wanted() or service.is_ready(port)

    return wait_until(settled, timeout=START) and service.is_ready(port) and process.poll() is None


def _failure(service: Service, status: int | None) -> TaskError:
    """The error for a service that does not start, with the end of its log."""
    log = service.folder / "log"
    lines = log.read_text(errors="replace").splitlines()
    end = "\n".join([line for line in lines if _MONGODB_NOTE not in line][-8:])
    advice = ""
    if isinstance(service, Database):
        advice = " If its data is damaged, `./just reset --data` deletes it."
    why = f"does not answer within {START:.0f} s"
    if status is not None:
        why = f"ended during startup: {ending(status)}"
    return TaskError(
        f"{service.name} does not start.{advice} The end of {log}:\n{end}\n"
        f"error: {service.name} {why}"
    )


def _choose_port(service: Service) -> int:
    """The same port as last time, if it is free, so that an ``.env`` can hold the address."""
    port = recorded_port(service)
    return port if port and is_free(port) else free_port()


def recorded_port(service: Service) -> int | None:
    """The port that it had last."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        return int((service.folder / "port").read_text())
    return None
