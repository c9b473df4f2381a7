"""The user's own databases: filled, served from and tested with the options of their URLs."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pymongo
import pytest
from pymongo.collection import Collection

import spec
from conformance import address
from conformance.address import Address, with_database
from harness.errors import UsageError
from harness.servers.catalog import find_target
from harness.servers.running import running as serving
from harness.services import documents, tables
from harness.services.fixtures import clear, fill
from harness.services.mongodb import MongoDB
from harness.services.postgresql import PostgreSQL
from harness.system.ports import free_port
from tests.databases import owned_in_mongodb, owned_in_postgresql, running
from tests.tasks import call, fetch, run

pytestmark = pytest.mark.timeout(300)

ENDPOINTS = ("/mongo", "/gridfs/photo.jpg", "/agents")


@pytest.fixture(scope="module")
def urls(open_folder: Path) -> Iterator[dict[str, str]]:
    """Both databases."""
    with (
        running(MongoDB(open_folder / "mongodb")) as mongodb,
        running(PostgreSQL(open_folder / "postgresql")) as postgresql,
    ):
        mongodb_url, database_url = owned_in_mongodb(mongodb), owned_in_postgresql(postgresql)
        yield {"MONGODB_URL": mongodb_url, "DATABASE_URL": database_url}


def _answers(name: str, settings: dict[str, str]) -> None:
    """Fail unless a server answers requests for what is in the databases."""
    others = {"FILES_DIR": str(spec.FILES), "SLOW_API_URL": "http://127.0.0.1:9/"}
    with serving(find_target(name), others | settings | {"PORT": str(free_port())}) as server:
        for path in ENDPOINTS:
            assert fetch(server.url + path), f"{name}: {path}"


def test_each_language_and_driver_is_served_from_them(urls: dict[str, str]) -> None:
    """With an option of PostgreSQL in the URL, where a driver takes it.

    And the suite passes beside them: through its proxies, outages and other databases too.
    """
    words = ("-k", "mongo or gridfs or agents or availability or faults")
    option = {"DATABASE_URL": f"{urls['DATABASE_URL']}?connect_timeout=3"}
    given = dict.fromkeys(("play", "aiohttp", "express", "eventmachine"), urls)
    given |= dict.fromkeys(("django", "eventlet", "flask"), urls | option)
    fill(urls)
    with ThreadPoolExecutor(3) as pool:
        proof = pool.submit(run, "conform", "aiohttp/aiohttp", *words, env=urls)
        serving = [pool.submit(_answers, name, own) for name, own in given.items()]
    for one in serving:
        one.result()
    done = proof.result()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


def _swap_slugs(articles: Collection[dict[str, Any]]) -> None:
    for old, new in (("small", "other"), ("big", "small"), ("other", "big")):
        articles.update_one({"slug": old}, {"$set": {"slug": new}})


def _index_again(articles: Collection[dict[str, Any]]) -> None:
    articles.drop_index("slug_1")
    articles.create_index("slug")


def test_differences_from_the_fixtures_are_undone(urls: dict[str, str]) -> None:
    mongodb_url, database_url = urls.values()
    fill(urls)
    with (
        pymongo.MongoClient[Any](mongodb_url) as client,
        psycopg.connect(database_url, autocommit=True) as connection,
    ):
        database = client.get_default_database()
        for spoil in (
            lambda: database.articles.update_one({"slug": "small"}, {"$set": {"slug": "other"}}),
            lambda: database.articles.insert_one({"slug": "another"}),
            lambda: database.articles.drop_index("slug_1"),
            lambda: _swap_slugs(database.articles),
            lambda: _index_again(database.articles),
            lambda: database["fs.chunks"].delete_one({}),
            lambda: database["fs.files"].update_one({}, {"$set": {"metadata": {}}}),
            lambda: database["fs.files"].drop_indexes(),
        ):
            spoil()
            assert documents.fill(mongodb_url)
            assert not documents.fill(mongodb_url)
        for statement in (
            "UPDATE agentfeatures SET number = '1' WHERE id = 1",
            "DELETE FROM agent_login_status",
            "ALTER TABLE agentfeatures ADD more text",
            "ALTER TABLE agentfeatures DROP CONSTRAINT agentfeatures_number_key",
            "DROP TABLE agentfeatures",
            "DROP TABLE fixtures, agentfeatures, agent_login_status",
        ):
            connection.execute(statement)
            assert tables.fill(database_url)
            assert not tables.fill(database_url)


def test_data_of_others_is_refused_and_kept(urls: dict[str, str]) -> None:
    mongodb_url, database_url = urls.values()
    clear(urls)
    with pymongo.MongoClient[Any](mongodb_url) as client:
        client.get_default_database().articles.insert_one({"title": "theirs"})
        with pytest.raises(UsageError, match="theirs has articles already"):
            fill({"MONGODB_URL": mongodb_url})
        assert client.get_default_database().articles.count_documents({}) == 1
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE agentfeatures (theirs text)")
        with pytest.raises(UsageError, match="theirs has agentfeatures already"):
            fill({"DATABASE_URL": database_url})
        connection.execute("SELECT theirs FROM agentfeatures")
    refused = call("reset", env=urls)
    assert refused.returncode == 2
    assert "theirs.articles" in refused.stderr
    assert "theirs.agentfeatures" in refused.stderr
    done = call("reset", "--yes", env=urls)
    assert done.returncode == 0, done.stderr
    assert not documents.fill(mongodb_url)
    assert not tables.fill(database_url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("mongodb://h/mine?w=1", "mongodb://h/other?w=1"),
        ("mongodb://u:p%40@h,i:2/mine", "mongodb://u:p%40@h,i:2/other?authSource=mine"),
        ("mongodb://u:p@h/mine?authSource=a", "mongodb://u:p@h/other?authSource=a"),
        (
            "postgres://u:p%2F@h:1/mine?sslmode=require",
            "postgres://u:p%2F@h:1/other?sslmode=require",
        ),
    ],
)
def test_another_database_of_a_url(url: str, expected: str) -> None:
    assert with_database(url, "other") == expected


def test_a_url_through_a_proxy() -> None:
    url = "mongodb://u:p%40@h:2/mine?w=1"
    assert address.mongodb(url) == Address(url, "h", 2)
    assert address.mongodb(url).through(9) == "mongodb://u:p%40@127.0.0.1:9/mine?w=1"
    assert address.postgresql("postgresql://h/x").through(9) == "postgresql://127.0.0.1:9/x"


@pytest.mark.parametrize(
    "url",
    [
        *("mongodb://h,i:2/mine", "mongodb://h/mine?replicaSet=rs0", "mongodb://h/mine?tls=true"),
        *("postgresql:///mine?host=/tmp", "postgresql://h,i/mine", "postgresql:///mine"),
    ],
)
def test_a_database_that_no_proxy_can_be_put_before(url: str) -> None:
    find = address.mongodb if url.startswith("mongodb") else address.postgresql
    with pytest.raises(UsageError, match="give the URL of one host"):
        find(url)
