"""Databases of tests' own, and like those of users: with names, users and passwords."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pymongo
from psycopg import sql

from conformance.address import with_database
from harness.services import Services, backing_services
from harness.services.mongodb import MongoDB
from harness.services.postgresql import PostgreSQL
from harness.services.process import running as run
from harness.services.service import Service

DATABASE, OWNER = "theirs", "someone"
# PostgreSQL's password, and the same quoted for a URL
PASSWORD, QUOTED = "p@ss/word", "p%40ss%2Fword"
PLAIN = "pass-word"  # MongoDB's password: ReactiveMongo does not decode passwords in URLs


class OwnPostgreSQL(PostgreSQL):
    """PostgreSQL with an owner of one database."""

    def make_owner(self, port: int) -> str:
        """Create a database and its owner; return the URL."""
        with psycopg.connect(self.url(port), autocommit=True) as connection:
            role = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
            connection.execute(role.format(sql.Identifier(OWNER), sql.Literal(PASSWORD)))
            database = sql.SQL("CREATE DATABASE {} OWNER {}")
            connection.execute(database.format(sql.Identifier(DATABASE), sql.Identifier(OWNER)))
        return f"postgres://{OWNER}:{QUOTED}@127.0.0.1:{port}/{DATABASE}"


class OwnMongoDB(MongoDB):
    """MongoDB with a user of one database."""

    def make_owner(self, port: int) -> str:
        """Create a user that can read and write, and is defined in, one database only."""
        with pymongo.MongoClient[Any](self.url(port)) as client:
            client[DATABASE].command("createUser", OWNER, pwd=PLAIN, roles=["readWrite"])
        return f"mongodb://{OWNER}:{PLAIN}@127.0.0.1:{port}/{DATABASE}"


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
def running(service: Service) -> Iterator[int]:
    """Run a database during the block; yields its port."""
    service.install()
    with run(service) as (_, port):
        yield port
