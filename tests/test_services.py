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
from tests.tasks import call, run, started

pytestmark = [pytest.mark.alone, pytest.mark.timeout(300)]

NAMES = [kind.name for kind in KINDS]


@pytest.fixture
def idle() -> None:
    """Wait until no task uses the services, so that a test may start, stop and kill them."""
    if not wait_until(lambda: not is_locked(LOCK), timeout=30):
        pytest.skip("another task uses the services")


@pytest.fixture
def held() -> Iterator[Services]:
    with backing_services({}) as held:
        yield held


def processes_with(words: str) -> list[psutil.Process]:
    """Those whose command line contains these words."""
    found = psutil.process_iter(["cmdline"])
    return [one for one in found if words in " ".join(one.info["cmdline"] or [])]


def supervisor() -> psutil.Process:
    """The supervisor of this checkout; others on the machine may have one too."""
    found = []
    for one in processes_with("harness.services."):
        with suppress(psutil.NoSuchProcess):  # one of another checkout, which has just ended
            found += [one] if one.cwd() == str(ROOT) else []
    (ours,) = found
    return ours


def process_of(name: str) -> psutil.Process:
    """The first process of a service."""
    program = {"mongodb": "mongod", "postgresql": "postgres", "upstream": "harness.slow_api"}[name]
    (found,) = [one for one in supervisor().children() if program in " ".join(one.cmdline())]
    return found


def exported(log: Path) -> dict[str, str]:
    """The settings that `just services` prints."""
    return dict(re.findall(r"export (\w+)='?([^'\n]*)", log.read_text()))


def test_the_databases_require_the_password(held: Services) -> None:
    for url in (held.mongodb_url, held.database_url):
        assert urlsplit(url).password
    for path in (ADDRESS, MongoDB().home / "password", PostgreSQL().home / "password"):
        assert path.stat().st_mode & 0o077 == 0
    parts = urlsplit(held.mongodb_url)
    with pymongo.MongoClient[Any](parts.hostname, parts.port) as client:
        with pytest.raises(OperationFailure, match="requires authentication"):
            client.refservers.articles.find_one()
        with pytest.raises(OperationFailure, match="requires authentication"):
            client.admin.command("createUser", "another", pwd="another", roles=["root"])
    parts = urlsplit(held.database_url)
    for password in ("", "wrong"):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(
                host=parts.hostname,
                port=parts.port,
                user=parts.username,
                dbname="refservers",
                password=password,
                passfile=os.devnull,
            )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs them as another user")
@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("name", ["mongodb", "postgresql"])
def test_a_database_has_no_right_of_root(name: str) -> None:
    database = process_of(name)
    assert 0 not in (*database.uids(), *database.gids())
    assert "\nGroups:\t \n" in Path(f"/proc/{database.pid}/status").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs it as another user")
def test_data_that_root_has_written_is_handed_over(open_folder: Path) -> None:
    mongodb = MongoDB(open_folder / "handed-over")
    with running_database(mongodb):
        pass
    for path in (mongodb.data, *mongodb.data.rglob("*")):
        os.chown(path, 0, 0)
    with running_database(mongodb) as url, pymongo.MongoClient[Any](url) as client:
        assert client.admin.command("ping")["ok"]


def test_a_path_that_a_shell_would_expand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL's initdb gives its path to one."""
    monkeypatch.setattr(places, "ROOT", tmp_path / "a$b")
    (tmp_path / "a$b").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert PostgreSQL().home == places.separate() / "postgresql"


@pytest.mark.usefixtures("idle")
def test_addresses_stay_the_same_unless_a_port_is_taken(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with backing_services({}) as first:
        pass
    with backing_services({}) as second:
        assert second == first
    port = urlsplit(first.slow_api_url).port
    assert wait_until(lambda: is_free(port or 0), timeout=30)
    with socket.create_server(("127.0.0.1", port or 0)), backing_services({}) as second:
        assert second.slow_api_url != first.slow_api_url
        assert second.database_url == first.database_url
    assert f"upstream: port {port} is taken" in capfd.readouterr().err


def test_a_database_is_not_taken_for_the_upstream(held: Services) -> None:
    ready = [Upstream().is_ready(urlsplit(url).port or 0) for url in held.environment().values()]
    assert sorted(ready) == [False, False, True]


def test_a_port_taken_during_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upstream = Upstream(tmp_path)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))  # it does not listen: nothing waits for an answer
        ports = [free_port(), other.getsockname()[1]]
        monkeypatch.setattr(process, "_choose_port", lambda _: ports.pop())
        with process.running(upstream) as (_, port):
            assert upstream.is_ready(port)
            assert not ports


@pytest.mark.usefixtures("idle")
def test_a_port_taken_between_two_starts_ends_the_task(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with started("services", log=log, until="Ctrl-C") as task:
        port = urlsplit(exported(log)["SLOW_API_URL"]).port or 0
        supervisor().suspend()  # until the port is taken
        process_of("upstream").kill()
        assert wait_until(lambda: is_free(port), timeout=5, interval=0)
        with socket.create_server(("127.0.0.1", port)):
            supervisor().resume()
            assert task.wait(60) == 128 + signal.SIGTERM
    assert "error: upstream has another address now: start this task again" in log.read_text()


def test_addresses_in_the_environment_take_no_lease(
    held: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The processes of the suite get them from `just conform`."""
    monkeypatch.setattr(lease, "_connect", lambda: pytest.fail("asked the supervisor"))
    with backing_services(held.environment()) as given:
        assert given == held


HOLDS = """
import sys
from harness.services import backing_services
with backing_services({}) as held:
    print(held.environment(), flush=True)
    sys.stdin.read()
"""


@pytest.mark.usefixtures("idle")
def test_tasks_that_start_at_once_share_a_supervisor() -> None:
    """Also if one that was killed has left its address, which belongs to another program now."""
    with backing_services({}):
        key = json.loads(ADDRESS.read_text())[1]
    assert wait_until(lambda: not is_locked(LOCK), timeout=30)
    with socket.create_server(("127.0.0.1", 0)) as stranger, ExitStack() as held:
        ADDRESS.write_text(json.dumps([stranger.getsockname(), key]))
        tasks = [
            held.enter_context(
                Popen([sys.executable, "-c", HOLDS], cwd=ROOT, stdin=PIPE, stdout=PIPE, text=True)
            )
            for _ in range(4)
        ]
        addresses = {task.stdout.readline() for task in tasks if task.stdout}
        assert len(addresses) == 1
        assert addresses != {""}
        assert supervisor().is_running()
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
def test_the_limit_of_open_files_is_not_the_tasks() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        with backing_services({}):
            limits = Path(f"/proc/{process_of('mongodb').pid}/limits").read_text()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    limit = 64_000 if hard == resource.RLIM_INFINITY else min(hard, 64_000)
    assert re.search(r"(?m)^Max open files +(\d+)", limits)[1] == str(limit)  # type: ignore[index]


@pytest.mark.usefixtures("idle")
def test_killed_processes_are_restarted(tmp_path: Path) -> None:
    """At the same address, for the running task and the next; none is left at the end."""
    log = tmp_path / "log"
    with started("services", log=log, until="Ctrl-C"):
        urls = exported(log)
        for victim in (*NAMES, "supervisor"):
            ended = NAMES if victim == "supervisor" else [victim]
            old = [process_of(name) for name in ended]
            before = Counter({name: log.read_text().count(f"{name} had ended") for name in ended})
            (supervisor() if victim == "supervisor" else old[0]).kill()
            assert wait_until(
                lambda: (
                    all(log.read_text().count(f"{name} had ended") > before[name] for name in ended)  # noqa: B023
                    and not any(map(is_alive, old))  # noqa: B023
                ),
                timeout=60,
            ), f"{victim} was killed:\n{log.read_text()}"
        with backing_services({}) as held:
            assert held.environment().items() <= urls.items()
            assert not documents.fill(held.mongodb_url)
            assert not tables.fill(held.database_url)
    assert wait_until(lambda: not is_locked(LOCK), timeout=60)
    assert not any(is_locked(RUN / name / "alive") for name in NAMES)
    assert not ADDRESS.exists()


def test_two_first_fillings_at_once(held: Services) -> None:
    urls = held.environment()
    documents.clear(held.mongodb_url)
    tables.clear(held.database_url)
    with ThreadPoolExecutor(4) as pool:  # without the lock between tasks of one checkout
        fillings = [pool.submit(documents.fill, urls["MONGODB_URL"]) for _ in range(2)]
        fillings += [pool.submit(tables.fill, urls["DATABASE_URL"]) for _ in range(2)]
        for filling in fillings:
            filling.result()
    assert not documents.fill(held.mongodb_url)
    assert not tables.fill(held.database_url)


def test_a_service_that_does_not_answer_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    monkeypatch.setattr(process, "START", 1.0)
    monkeypatch.setattr(process, "_choose_port", lambda _: port)
    monkeypatch.setattr(Upstream, "is_ready", lambda *_: False)
    with (
        pytest.raises(TaskError, match="upstream does not answer within 1 s"),
        process.running(Upstream(tmp_path)),
    ):
        pass
    assert not processes_with(f"harness.slow_api {port}")


@pytest.mark.usefixtures("idle")
def test_a_database_that_does_not_start_keeps_its_data() -> None:
    with backing_services({}) as held, pymongo.MongoClient[Any](held.mongodb_url) as client:
        client.refservers.kept.replace_one({"_id": 1}, {"_id": 1}, upsert=True)
    assert wait_until(lambda: not is_locked(LOCK), timeout=30)
    lock = MongoDB().data / "mongod.lock"
    lock.unlink()
    lock.mkdir()  # mongod cannot open it
    try:
        failed = run("reset")
    finally:
        lock.rmdir()
    assert failed.returncode == 1
    assert (
        "error: mongodb does not start. If its data is damaged, `./just reset --data`"
        in failed.stderr
    )
    assert "mongod.lock" in failed.stderr
    assert "error: mongodb ended during startup: exit status 100" in failed.stderr
    assert "Traceback" not in failed.stderr
    with backing_services({}) as held, pymongo.MongoClient[Any](held.mongodb_url) as client:
        assert client.refservers.kept.find_one()
        client.refservers.drop_collection("kept")


def test_data_is_deleted_on_demand(open_folder: Path) -> None:
    mongodb = MongoDB(open_folder / "deleted")
    for number in (1, 2):
        with running_database(mongodb) as url, pymongo.MongoClient[Any](url) as client:
            client.refservers.mine.insert_one({"_id": number})
            assert client.refservers.mine.distinct("_id") == [number]
        if number == 1:
            mongodb.reset()
    (mongodb.home / "password").unlink()
    with pytest.raises(TaskError, match="is missing"), running_database(mongodb):
        pass
    assert mongodb.data.is_dir(), "data was deleted by itself"


@pytest.mark.usefixtures("held")
def test_data_in_use_is_not_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.services._STOPPING", 0.5)
    refused = call("reset", "--data")
    assert refused.returncode == 2
    assert "error: a task uses the databases: end it before their data is deleted" in refused.stderr
    assert MongoDB().data.is_dir()


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
