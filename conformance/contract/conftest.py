"""Starts the server under test and reports the checks' outcomes."""

import signal
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import spec
from conformance.address import with_database
from conformance.events import emit
from conformance.subject import Controlled, Subject, start
from harness.errors import TaskError
from harness.servers.catalog import find_target
from harness.servers.settings import DEFAULTS
from harness.services import backing_services
from harness.system.ports import free_port
from harness.system.processes import ending
from harness.system.scratch import scratch
from harness.task import end_at_once_on_signals


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--target", required=True, help="SERVER/DEPLOYMENT, a path or http://HOST:PORT"
    )


def pytest_configure(config: pytest.Config) -> None:
    end_at_once_on_signals()
    config.addinivalue_line("markers", "catches(*faults): faults that make the check fail")
    config.addinivalue_line("markers", "serves(*parts): parts of the contract that it needs")
    config.addinivalue_line("markers", "control: needs a server that we started")


@pytest.fixture(scope="session")
def subject(pytestconfig: pytest.Config) -> Iterator[Subject]:
    """The server under test."""
    name = pytestconfig.getoption("--target")
    if "://" in name:
        yield Subject.at(name)
        return
    target = find_target(name)
    with ExitStack() as held:
        try:
            folder = held.enter_context(scratch("conformance"))
            backing = held.enter_context(backing_services())
            subject = held.enter_context(start(target, backing, folder))
        except TaskError as error:
            emit(event="unstarted", message=str(error))
            pytest.exit("the server does not start", returncode=1)
        yield subject
        if (status := subject.process.poll()) is not None:
            why = f"{target.name} ended unexpectedly during the tests: {ending(status)}"
            emit(event="error", message=f"{why}\n{subject.written()[-1000:]}".rstrip())


@pytest.fixture(scope="session")
def controlled(subject: Subject) -> Controlled:
    """The server under test, started by us."""
    assert isinstance(subject, Controlled)
    return subject


@pytest.fixture(scope="session")
def lacking(controlled: Controlled) -> Iterator[Controlled]:
    """The server on databases without its documents and tables, and without an upstream."""
    services = controlled.services
    with controlled.another(
        MONGODB_URL=with_database(services.mongodb_url, "refservers_empty"),
        DATABASE_URL=with_database(services.database_url, "postgres"),
        SLOW_API_URL=f"http://127.0.0.1:{free_port()}/",
    ) as server:
        yield server


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out checks of unserved parts; on servers that are not ours, also those with control."""
    name = config.getoption("--target")
    ours, served = "://" not in name, set(spec.ENDPOINTS)
    if ours:
        served = set(find_target(name).server.manifest.parts or served)
    possible = [
        item
        for item in items
        if served.issuperset(part for mark in item.iter_markers("serves") for part in mark.args)
    ]
    kept = [item for item in possible if ours or not item.get_closest_marker("control")]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    emit(event="left_out", parts=[part_of(item) for item in possible if item not in kept])
    items[:] = kept


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(settings: Any) -> bool:
    """Fail with a message; pytest-timeout's own timer needs the terminal plugin."""

    def fail(*_: object) -> None:
        pytest.fail(f"not finished after {settings.timeout:.0f} s")

    signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, settings.timeout)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_cancel_timer() -> bool:
    signal.setitimer(signal.ITIMER_REAL, 0)
    return True


def pytest_collection_finish(session: pytest.Session) -> None:
    emit(event="asking", count=len(session.items))


def part_of(item: pytest.Item) -> str:
    """The part of the contract that a check belongs to: its request's, or the name of its file."""
    callspec = getattr(item, "callspec", None)
    if callspec and "exchange" in callspec.params:
        return str(callspec.params["exchange"].part)
    return item.path.stem.removeprefix("test_")


_LINES_OF_LOG = 8
_LONGEST = 2_000  # characters of a message: a database's errors have whole documents
# Where ``./just serve`` serves; the server under test has stopped when its results are read
_SERVED = f"http://{DEFAULTS['HOST']}:{DEFAULTS['PORT']}"


# How much of each log has been shown
_read: dict[Path, int] = {}


def _logged(servers: list[Controlled]) -> str:
    """The last lines that the tested servers have logged since the check before."""
    logged = b""
    for log in {one.log for one in servers}:
        content = log.read_bytes()
        logged += content[_read.get(log, 0) :]
        _read[log] = len(content)
    return "\n".join(logged.decode(errors="replace").splitlines()[-_LINES_OF_LOG:])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Function, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report the outcome of each check as it finishes."""
    report = yield
    if report.when == "call" or report.outcome != "passed":
        fault = call.excinfo.value if call.excinfo else None
        request = getattr(fault, "request", None)
        status = getattr(fault, "status", 0)
        servers = [one for one in item.funcargs.values() if isinstance(one, Controlled)]
        message = (str(fault) or repr(fault))[:_LONGEST] if fault else ""
        for server in servers:
            message = message.replace(server.url, _SERVED)
        log = _logged(servers)
        name = item.config.getoption("--target")
        url = name.rstrip("/") if "://" in name else _SERVED
        emit(
            event="check",
            part=part_of(item),
            name=item.nodeid.split("::", 1)[-1],
            outcome=report.outcome,
            phase=report.when,
            seconds=round(report.duration, 3),
            message=message,
            repeat=request.curl(url) if request else "",
            request=request.target if request else "",
            status=status,
            what=getattr(fault, "what", ""),
            log=log if report.failed and not 0 < status < 500 else "",
        )
    return report
