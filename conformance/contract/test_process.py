"""The life of a process: settings, signals, workers, what it writes."""

import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

import spec
from conformance.contract.conftest import Start
from conformance.expect import JSON, TEXT, Mismatch, answer
from conformance.faults import catches
from conformance.http import Closed, Request
from conformance.needs import control, serves
from conformance.subject import Controlled
from harness.ports import accepts, free_port
from harness.processes import stop, wait_until
from harness.server import launch

pytestmark = control


def _processes(server: Controlled) -> set[int]:
    return {process.pid for process in server.processes()}


BAD_SETTINGS = {
    "PORT": "http",
    "WORKERS": "none",
    "MONGODB_URL": "nonsense",
    "DATABASE_URL": "nonsense",
    "FILES_DIR": "/nonexistent/folder",
    "SLOW_API_URL": "nonsense",
}


@serves("mongo", "agents", "slow_api")
@catches("bad-setting-accepted", "bad-setting-status-1", "bad-setting-unnamed", "bad-setting-trace")
def test_bad_settings(controlled: Controlled, tmp_path: Path) -> None:
    """Each ends the process at once with status 2 and one line that names it."""
    good = controlled.services.environment() | {
        "HOST": "127.0.0.1",
        "PORT": str(free_port()),
        "FILES_DIR": str(controlled.files),
    }
    started = {}
    for name, value in BAD_SETTINGS.items():
        log = tmp_path / name
        with log.open("w") as output:
            started[name] = launch(controlled.target, good | {name: value}, output=output)
    try:
        for name, process in started.items():
            try:
                status = process.wait(15)
            except subprocess.TimeoutExpired:
                status = None
            told = (tmp_path / name).read_text(errors="replace")
            setting = f"{name}={BAD_SETTINGS[name]}"
            assert status == 2, f"{setting}: expected exit status 2, got {status}: {told[-300:]}"
            assert name in told, f"{setting}: expected a line that names it, got {told[-300:]!r}"
            lines = told.strip().splitlines()
            assert len(lines) == 1, f"{setting}: expected one line, got {told[-600:]}"
    finally:
        for process in started.values():
            stop(process, grace=0)


@serves("sleep")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
@catches(
    "stops-at-once", "stops-never", "stops-with-143", "leaves-children", "accepts-while-stopping"
)
def test_stopping(start_another: Start, number: signal.Signals) -> None:
    """What is in flight is finished, nothing new is accepted, and nothing is left."""
    with start_another({"WORKERS": "2"}) as server:
        processes = server.processes()
        leader = server.process.process
        request = Request("/sleep?ms=2500")
        with server.connect() as busy:
            busy.send(request.encode("x"))
            time.sleep(0.6)
            os.kill(leader.pid, number)
            refused = wait_until(lambda: _refuses(server), timeout=1.7, interval=0.1)
            assert refused, f"new requests are served 1.7 s after {number.name}"
            try:
                answer(busy.receive(request), JSON, spec.json_body({"slept_ms": 2500}))
            except (Closed, OSError):
                raise AssertionError(f"{number.name} cut a request in flight") from None
        try:
            status = leader.wait(12)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still there 12 s after {number.name}") from None
        assert status == 0, f"expected exit status 0 after {number.name}, got {status}"
        left = [one for one in psutil.wait_procs(processes, timeout=1)[1] if not _has_ended(one)]
        assert not left, f"children left after {number.name}: {left}"
        assert not accepts(server.host, server.port), "the port is still taken"


def _has_ended(process: psutil.Process) -> bool:
    """Whether nothing is left of it but its entry, which its new parent has yet to take."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _refuses(server: Controlled) -> bool:
    """Whether it does so twice: the connection that the signal overtakes may be cut alone."""
    return not _is_served(server) and not _is_served(server)


def _is_served(server: Controlled) -> bool:
    try:
        return server.ask("/index", timeout=1).status == 200
    except (Closed, OSError):
        return False


@catches("workers-unsupervised", "supervision-claimed-none", "workers-ignored")
def test_a_killed_worker(start_another: Start) -> None:
    """Both ways: it is replaced exactly where the manifest says that something watches."""
    with start_another({"WORKERS": "2"}) as server:
        answer(server.ask("/index"), TEXT, b"Hello, World!")
        before = server.processes()
        supervised = server.deployment.supervised
        if len(before) == 1:
            assert not supervised, "supervised = true, but WORKERS=2 has a single process"
            return
        workers = _workers(before)
        assert len(workers) >= 2, f"WORKERS=2 has {len(workers)} worker processes"
        victim = workers[-1]
        known = {process.pid for process in before}
        victim.kill()

        def replaced() -> bool:
            return bool(_processes(server) - known)

        came = wait_until(replaced, timeout=6 if supervised else 2)
        assert came == supervised, (
            f"a killed worker is {'' if came else 'not '}replaced; "
            f"the manifest says supervised = {str(supervised).lower()}"
        )
        if supervised:
            wait_until(lambda: _is_served(server), timeout=5)
            answer(server.ask("/index"), TEXT, b"Hello, World!")


def _workers(processes: list[psutil.Process]) -> list[psutil.Process]:
    """The processes that serve: those without children of their own."""
    return [process for process in processes if not process.children()]


@catches("access-log")
def test_nothing_is_logged_of_what_goes_well(controlled: Controlled) -> None:
    controlled.ask("/index")
    before = controlled.log.stat().st_size
    for target in ("/index", "/json", "/nothing"):
        response = controlled.ask(target)
    time.sleep(0.1)
    written = controlled.log.read_bytes()[before:]
    if written:
        raise Mismatch("log", "nothing", written, response)
