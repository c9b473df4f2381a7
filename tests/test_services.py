"""The shared databases and upstream: private, on stable ports, and restarted when they end."""

import json
import os
import re
import resource
import signal
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any
from urllib.parse import urlsplit

import psutil
import psycopg
import pymongo
import pytest
from pymongo.errors import OperationFailure

from conformance.subject import is_alive
from harness.errors import TaskError, UsageError
from harness.paths import ROOT, RUN
from harness.services import (
    KINDS,
    Services,
    backing_services,
    documents,
    lease,
    places,
    process,
    tables,
)
from harness.services.lease import ADDRESS, LOCK
from harness.services.mongodb import MongoDB
from harness.services.places import own_folder
from harness.services.postgresql import PostgreSQL
from harness.services.upstream import Upstream
from harness.system.locks import is_locked
from harness.system.ports import free_port, is_free
from harness.system.processes import wait_until
from tests.databases import running as running_database
from tests.tasks import call, started

pytestmark = [pytest.mark.alone, pytest.mark.timeout(300)]

NAMES = [kind.name for kind in KINDS]


@pytest.fixture
def idle() -> None:
    """Wait until no task uses the services, so that a test may start, stop and kill them."""
    if not wait_until(lambda: not is_locked(LOCK), timeout=30):
        pytest.skip("another task uses the services")


def supervisor() -> psutil.Process:
    """The supervisor of this checkout; others on the machine may have one too."""
    found = []
    for one in psutil.process_iter(["cmdline"]):
        if "harness.services.supervisor" in (one.info["cmdline"] or []):
            with suppress(psutil.NoSuchProcess):  # one of another checkout, which has just ended
                found += [one] if one.cwd() == str(ROOT) else []
    (ours,) = found
    return ours


def process_of(name: str) -> psutil.Process:
    """The first process of a service."""
    program = {"mongodb": "mongod", "postgresql": "postgres", "upstream": "harness.slow_api"}[name]
    (found,) = [one for one in supervisor().children() if program in " ".join(one.cmdline())]
    return found


def restarts(log: Path) -> Counter[str]:
    """How often a task has said of each service that it was restarted."""
    return Counter(re.findall(r"(\w+) had ended; it is running again", log.read_text()))


@pytest.mark.usefixtures("idle")
def test_addresses_stay_the_same_unless_a_port_is_taken(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with backing_services({}) as first:
        pass
    port = urlsplit(first.slow_api_url).port or 0
    assert wait_until(lambda: is_free(port), timeout=30)
    with socket.create_server(("127.0.0.1", port)), backing_services({}) as second:
        assert second.slow_api_url != first.slow_api_url
        assert replace(second, slow_api_url=first.slow_api_url) == first
    assert f"upstream: port {port} is taken" in capfd.readouterr().err


HOLDS = """
import resource, sys
from harness.services import backing_services
resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
with backing_services({}) as held:
    print(held.environment(), flush=True)
    sys.stdin.read()
"""


@pytest.mark.usefixtures("idle")
def test_tasks_that_start_at_once_share_a_supervisor() -> None:
    """Also if one that was killed has left its address, which belongs to another program now.

    Its limit of open files is not that of the task which happens to start it.
    """
    with socket.create_server(("127.0.0.1", 0)) as stranger, ExitStack() as held:
        ADDRESS.write_text(json.dumps([stranger.getsockname(), "the key of the killed one"]))
        holds = [sys.executable, "-c", HOLDS]
        tasks = [
            held.enter_context(Popen(holds, cwd=ROOT, stdin=PIPE, stdout=PIPE, text=True))
            for _ in range(4)
        ]
        addresses = {task.stdout.readline() for task in tasks if task.stdout}
        assert len(addresses) == 1
        assert addresses != {""}
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        limit = 64_000 if hard == resource.RLIM_INFINITY else min(hard, 64_000)
        limits = Path(f"/proc/{process_of('mongodb').pid}/limits").read_text()
        assert re.search(rf"(?m)^Max open files +{limit} ", limits)
        with pytest.raises(AuthenticationError):
            Client(tuple(json.loads(ADDRESS.read_text())[0]), authkey=b"guessed")
        for task in tasks[:2]:
            task.kill()
        with backing_services({}) as another:
            assert addresses == {f"{another.environment()}\n"}
        for task in tasks[2:]:
            task.kill()
    assert wait_until(lambda: not is_locked(LOCK), timeout=30)


@pytest.mark.usefixtures("idle")
def test_killed_processes_are_restarted(tmp_path: Path) -> None:
    """At the same address, for the running task and the next; none is left at the end.

    If another program takes the address in between, the task ends.
    """
    log = tmp_path / "log"
    with started("services", log=log, until="Ctrl-C") as task:
        urls = dict(re.findall(r"export (\w+)='?([^'\n]*)", log.read_text()))
        for victim in (*NAMES, "supervisor"):
            ended = NAMES if victim == "supervisor" else [victim]
            old, expected = [process_of(name) for name in ended], restarts(log) + Counter(ended)
            (supervisor() if victim == "supervisor" else old[0]).kill()
            assert wait_until(
                lambda: restarts(log) >= expected and not any(map(is_alive, old)),  # noqa: B023
                timeout=60,
            ), f"{victim} was killed:\n{log.read_text()}"
        with backing_services({}) as held:
            assert held.environment().items() <= urls.items()
            assert not documents.fill(held.mongodb_url)
            assert not tables.fill(held.database_url)
        port = urlsplit(urls["SLOW_API_URL"]).port or 0
        supervisor().suspend()  # until the port is taken
        process_of("upstream").kill()
        assert wait_until(lambda: is_free(port), timeout=5, interval=0)
        with socket.create_server(("127.0.0.1", port)):
            supervisor().resume()
            assert task.wait(60) == 128 + signal.SIGTERM
    assert "error: upstream has another address now: start this task again" in log.read_text()
    assert wait_until(lambda: not is_locked(LOCK), timeout=60)
    assert not any(is_locked(RUN / name / "alive") for name in NAMES)
    assert not ADDRESS.exists()


@pytest.mark.usefixtures("idle")
def test_a_database_that_does_not_start_keeps_its_data() -> None:
    with backing_services({}) as held, pymongo.MongoClient[Any](held.mongodb_url) as client:
        client.refservers.kept.replace_one({"_id": 1}, {"_id": 1}, upsert=True)
    assert wait_until(lambda: not is_locked(LOCK), timeout=30)
    lock = MongoDB().data / "mongod.lock"
    lock.unlink()
    lock.mkdir()  # mongod cannot open it
    try:
        failed = call("reset")
    finally:
        lock.rmdir()
    assert failed.returncode == 1
    assert (
        "error: mongodb does not start. If its data is damaged, `./just reset --data`"
        in failed.stderr
    )
    assert "mongod.lock" in failed.stderr
    assert "error: mongodb ended during startup: exit status 100" in failed.stderr
    with backing_services({}) as held, pymongo.MongoClient[Any](held.mongodb_url) as client:
        assert client.refservers.kept.find_one()
        client.refservers.drop_collection("kept")


def test_data_is_kept_until_it_is_deleted_on_demand(open_folder: Path) -> None:
    """What root has written of it is handed over to the database's user."""
    mongodb = MongoDB(open_folder / "mongodb")

    def store(number: int) -> list[int]:
        """Store a number; return all that are stored."""
        with running_database(mongodb) as url, pymongo.MongoClient[Any](url) as client:
            client.refservers.mine.insert_one({"_id": number})
            return client.refservers.mine.distinct("_id")

    assert store(1) == [1]
    if os.geteuid() == 0:
        for path in (mongodb.data, *mongodb.data.rglob("*")):
            os.chown(path, 0, 0)
    assert store(2) == [1, 2]
    mongodb.reset()
    assert store(3) == [3]
    (mongodb.home / "password").unlink()
    with pytest.raises(TaskError, match="is missing"):
        store(4)
    assert mongodb.data.is_dir(), "data was deleted by itself"


def test_a_port_taken_during_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upstream = Upstream(tmp_path)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))  # it does not listen: nothing waits for an answer
        ports = [free_port(), other.getsockname()[1]]
        monkeypatch.setattr(process, "_choose_port", lambda _: ports.pop())
        with process.running(upstream) as (_, port):
            assert upstream.is_ready(port)
            assert not ports


def test_a_service_that_does_not_answer_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "START", 1.0)
    monkeypatch.setattr(Upstream, "is_ready", lambda *_: False)
    with (
        pytest.raises(TaskError, match="upstream does not answer within 1 s"),
        process.running(Upstream(tmp_path)),
    ):
        pass
    assert not is_locked(tmp_path / "alive"), "its process has not ended"


def test_a_path_that_a_shell_would_expand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL's initdb gives its path to one."""
    monkeypatch.setattr(places, "ROOT", tmp_path / "a$b")
    (tmp_path / "a$b").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert PostgreSQL().home == places.separate() / "postgresql"


def test_a_folder_of_others_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        own_folder(tmp_path / "mine")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    for name in ("link", "open"):
        with pytest.raises(UsageError, match=f"{name} is not a folder"):
            own_folder(tmp_path / name)
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(UsageError, match="mine is not a folder"):
        own_folder(tmp_path / "mine")


@pytest.fixture(scope="module")
def held() -> Iterator[Services]:
    """The services, running from here on: the tests above start and stop them."""
    with backing_services({}) as held:
        yield held


def test_the_databases_require_the_password(held: Services) -> None:
    for path in (ADDRESS, MongoDB().home / "password", PostgreSQL().home / "password"):
        assert path.stat().st_mode & 0o077 == 0
    parts = urlsplit(held.mongodb_url)
    with pymongo.MongoClient[Any](parts.hostname, parts.port) as client:
        with pytest.raises(OperationFailure, match="requires authentication"):
            client.refservers.articles.find_one()
        with pytest.raises(OperationFailure, match="requires authentication"):
            client.admin.command("createUser", "another", pwd="another", roles=["root"])
    for password in ("", "wrong"):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(held.database_url, password=password, passfile=os.devnull)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs them as another user")
@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("name", ["mongodb", "postgresql"])
def test_a_database_has_no_right_of_root(name: str) -> None:
    database = process_of(name)
    assert 0 not in (*database.uids(), *database.gids())
    assert "\nGroups:\t \n" in Path(f"/proc/{database.pid}/status").read_text()


def test_a_database_is_not_taken_for_the_upstream(held: Services) -> None:
    ready = [Upstream().is_ready(urlsplit(url).port or 0) for url in held.environment().values()]
    assert sorted(ready) == [False, False, True]


def test_addresses_in_the_environment_take_no_lease(
    held: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The processes of the suite get them from `just conform`."""
    monkeypatch.setattr(lease, "_connect", lambda: pytest.fail("asked the supervisor"))
    with backing_services(held.environment()) as given:
        assert given == held


def test_two_first_fillings_at_once(held: Services) -> None:
    documents.clear(held.mongodb_url)
    tables.clear(held.database_url)
    with ThreadPoolExecutor(4) as pool:  # without the lock between tasks of one checkout
        fillings = [pool.submit(documents.fill, held.mongodb_url) for _ in range(2)]
        fillings += [pool.submit(tables.fill, held.database_url) for _ in range(2)]
    for filling in fillings:
        filling.result()
    assert not documents.fill(held.mongodb_url)
    assert not tables.fill(held.database_url)


@pytest.mark.usefixtures("held")
def test_data_in_use_is_not_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.services._STOPPING", 0.5)
    refused = call("reset", "--data")
    assert refused.returncode == 2
    assert "error: a task uses the databases: end it before their data is deleted" in refused.stderr
    assert MongoDB().data.is_dir()
