"""Databases of tests' own, and like those of users: with names, users and passwords."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pymongo

from conformance.address import with_database
from harness.services import Services, backing_services
from harness.services.process import running as run
from harness.services.service import Database

DATABASE, OWNER = "theirs", "someone"
# PostgreSQL's password, and the same quoted for a URL
PASSWORD, QUOTED = "p@ss/word", "p%40ss%2Fword"
PLAIN = "pass-word"  # MongoDB's password: ReactiveMongo does not decode passwords in URLs


def owned_in_postgresql(url: str) -> str:
    """Create a database and its owner, as the user of ``url``; return its URL."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {OWNER} LOGIN PASSWORD '{PASSWORD}'")
        connection.execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER}")
    return f"postgres://{OWNER}:{QUOTED}@127.0.0.1:{urlsplit(url).port}/{DATABASE}"


def owned_in_mongodb(url: str) -> str:
    """Create a user that can read and write, and is defined in, one database only."""
    with pymongo.MongoClient[Any](url) as client:
        client[DATABASE].command("createUser", OWNER, pwd=PLAIN, roles=["readWrite"])
    return f"mongodb://{OWNER}:{PLAIN}@127.0.0.1:{urlsplit(url).port}/{DATABASE}"


@contextmanager
def with_mongodb_of_its_own(backing: Services, name: str) -> Iterator[Services]:
    """The services with another MongoDB database, for tests of servers that count its documents."""
    url = with_database(backing.mongodb_url, name)
    with backing_services({**backing.environment(), "MONGODB_URL": url}) as own:
        try:
            yield own
        finally:
            with pymongo.MongoClient[Any](url) as client:
                client.drop_database(name)


@contextmanager
def running(database: Database) -> Iterator[str]:
    """Run a database during the block; yields its URL."""
    database.install()
    with run(database) as (_, port):
        yield database.url(port)
