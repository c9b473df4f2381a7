"""The life cycle of a process: settings, workers, signals."""

import re
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import psutil

from conformance.expect import holds, right, same
from conformance.http import Request
from conformance.instance import launched
from conformance.marks import catches, control, serves
from conformance.subject import Controlled, is_alive
from harness.servers.catalog import Server
from harness.servers.settings import SETTINGS
from harness.system.ports import accepts, answers
from harness.system.processes import stop, wait_until

pytestmark = control

LATEST = 20.0  # seconds that a process may take to end: the contract's 15, and a margin

_AT_ONCE = 3  # processes that are given a bad setting: a JVM's start takes both cores
_REFUSAL = 150.0  # seconds that it may take to refuse a setting, on a busy machine

_PASSWORD = "not-for-the-log"
_WORDS = ("PORT", "WORKERS", "THREADS")  # settings that are words, which a command may take

BAD_SETTINGS = (
    ("PORT", "http"),
    ("PORT", "65536"),
    ("WORKERS", "0"),
    ("THREADS", "12abc"),
    ("MONGODB_URL", f"mongodb//me:{_PASSWORD}@127.0.0.1/x"),
    ("MONGODB_POOL_SIZE", "3.5"),
    ("DATABASE_URL", f"postgresql//me:{_PASSWORD}@127.0.0.1/x"),
    ("DATABASE_POOL_SIZE", "-1"),
    ("FILES_DIR", "/nonexistent/folder"),
    ("SLOW_API_URL", "nonsense"),
    ("SLOW_API_URL", "localhost:8001"),
)


def _read_by(server: Server) -> set[str]:
    """The settings that a server's ``.env.example`` lists; all of them if it has none."""
    example = server.folder / ".env.example"
    if not example.is_file():
        return set(SETTINGS)
    lines = example.read_text(encoding="utf-8").splitlines()
    return {line.partition("=")[0].lstrip("# ") for line in lines}


@serves("mongo", "agents", "slow_api")
@catches("bad-setting-accepted", "bad-setting-status-0", "bad-setting-unnamed", "settings-listed")
@catches("bounds-unchecked", "number-prefix-accepted", "password-logged")
def test_bad_settings(controlled: Controlled) -> None:
    """Each ends the process before it serves, with a non-zero status and a line that names it.

    Most servers name several at once. A command that refuses its own arguments says nothing of the
    rest, which is set without those. What is still not named is set by itself.
    """
    read = _read_by(controlled.target.server)
    left = _unnamed(controlled, [(name, value) for name, value in BAD_SETTINGS if name in read])
    if words := [one for one in left if one[0] in _WORDS]:
        left = words + _unnamed(controlled, [one for one in left if one not in words])
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(partial(_require_named, controlled), left))


def _unnamed(controlled: Controlled, settings: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Set them at once, and again without those that are named, until none is."""
    while settings:
        together = dict(settings)
        written = _refusal(controlled, together)
        named = {name for name in together if _names(written, name)}
        if not named or _names(written, "HOST"):  # which is right, so others may be, too
            break
        settings = [one for one in settings if one[0] not in named or one not in together.items()]
    return settings


def _names(written: str, name: str) -> bool:
    """Whether a text has the name of a setting; in capitals, if it is also a word."""
    text = written if name in (*_WORDS, "HOST") else written.upper().replace("-", "_")
    return re.search(f"(?<![A-Z]){name}(?![A-Z])", text) is not None


def _refusal(controlled: Controlled, settings: dict[str, str]) -> str:
    """What a server writes as it refuses these settings, without colours."""
    with launched(controlled, **settings) as server:
        server.serves(_REFUSAL)
        status, written = server.process.poll(), server.log.read_text(errors="replace")
    got = "no end" if status is None else status
    assert status, f"{settings}: expected a non-zero exit status, got {got}: {written[-300:]}"
    assert _PASSWORD not in written, f"{settings}: a password is logged: {written[-300:]!r}"
    return re.sub(r"\x1b\[[0-9;]*m", "", written)


def _require_named(controlled: Controlled, setting: tuple[str, str]) -> None:
    """A setting that is set by itself may be named in any letters."""
    name, value = setting
    written = _refusal(controlled, {name: value})
    assert _names(written.upper(), name), (
        f"{name}={value}: expected a line that names it, got {written[-300:]!r}"
    )


@contextmanager
def _two_workers(controlled: Controlled) -> Iterator[Controlled]:
    with controlled.another(WORKERS="2") as server:
        right(server.ask("/index"))
        server.settle()  # some stacks take ten seconds to stop a worker that is still starting
        try:
            yield server
        finally:
            stop(server.process, grace=0)


def _require_stop(server: Controlled, number: signal.Signals) -> None:
    """It ends in time despite an open connection, and leaves neither processes nor the port."""
    with server.connect() as idle:
        right(idle.request(Request("/index")))
        processes = server.processes()
        server.stop(number, LATEST)
        left = list(filter(is_alive, psutil.wait_procs(processes, timeout=2)[1]))
        assert not left, f"processes left after {number.name}: {left}"
        assert not accepts(server.host, server.port), "the port is still taken"


@catches("stops-never", "leaves-children")
def test_stopping(controlled: Controlled) -> None:
    """By SIGINT; by SIGTERM in :func:`test_workers`."""
    with _two_workers(controlled) as server:
        _require_stop(server, signal.SIGINT)


@serves("mongo", "agents")
@catches("stops-after-mongodb")
def test_stopping_while_databases_are_silent(controlled: Controlled) -> None:
    """It ends in time although no driver gets an answer on its open connections."""
    with controlled.another() as server:
        for target in ("/mongo", "/agents"):
            right(server.ask(target))
        with server.mongodb.in_state("hanging"), server.postgresql.in_state("hanging"):
            server.stop(signal.SIGTERM, LATEST)


@catches("workers-ignored", "workers-unsupervised", "stops-never", "leaves-children")
def test_workers(controlled: Controlled) -> None:
    """Both ways: WORKERS=2 starts two serving processes, or one if the manifest says so.

    One that is killed is replaced exactly if the manifest says that they are supervised. SIGTERM
    ends all.
    """
    deployment = controlled.deployment
    with _two_workers(controlled) as server:
        if deployment.workers:
            enough = wait_until(lambda: len(_workers(server)) >= 2, timeout=5)
            assert enough, f"WORKERS=2 starts {len(_workers(server))} worker process"
            _require_replaced(server, deployment.supervised)
        else:
            count = len(_workers(server))
            assert count == 1, f"workers = false, but WORKERS=2 starts {count}"
            assert not deployment.supervised, "supervised = true, but workers = false"
        _require_stop(server, signal.SIGTERM)


def _require_replaced(server: Controlled, supervised: bool) -> None:
    """A worker that is killed is replaced exactly if they are supervised."""
    known = server.pids()
    _workers(server)[-1].kill()
    was_replaced = wait_until(lambda: bool(server.pids() - known), timeout=10 if supervised else 3)
    assert was_replaced == supervised, (
        f"a killed worker is {'' if was_replaced else 'not '}replaced; "
        f"the manifest says supervised = {str(supervised).lower()}"
    )
    server.settle()


def _workers(server: Controlled) -> list[psutil.Process]:
    """The serving processes: those without children."""
    return [process for process in server.processes() if not process.children()]


@catches("ipv6-refused")
def test_ipv6(controlled: Controlled) -> None:
    """``HOST`` may be an IPv6 address, on a machine that has them."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return
    with launched(controlled, HOST="::1") as server:
        wait_until(lambda: server.has_ended or answers("::1", server.port), timeout=_REFUSAL)
        assert answers("::1", server.port), f"no answer on ::1: {server.written()[-300:]}"


@catches("closes-always")
def test_keep_alive(controlled: Controlled) -> None:
    """Both ways: connections are closed after each response exactly if the manifest says so."""
    with controlled.connect() as connection:
        first = connection.request(Request("/index"))
        right(first)
        if not controlled.deployment.keep_alive:
            holds("the connection", "closed", connection.is_closed_within(5), "open", first)
            return
        for target in ("/index", "/json") * 10:
            option = (first.header("Connection") or "keep-alive").lower()
            same("Connection", "keep-alive", option, first)
            first = connection.request(Request(target))
            right(first)
