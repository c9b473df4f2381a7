from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Any, TypeVar

import psycopg
import pymongo
from flask import Flask, current_app
from gridfs import GridFSBucket
from psycopg.abc import RV, PQGen
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool
from pymongo import MongoClient
from pymongo.errors import WaitQueueTimeoutError

from app.semaphore import FairSemaphore

T = TypeVar("T")

TIMEOUT = 2.5  # seconds for an operation with all that it waits for

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f
      LEFT JOIN agent_login_status s ON s.agent_id = f.id
     ORDER BY f.number
"""


class Connection(psycopg.Connection[DictRow]):
    """A connection that gives up a query at its deadline, even if nothing comes any more."""

    deadline = float("inf")

    def wait(self, gen: PQGen[RV], *args: Any, **kwargs: Any) -> RV:
        return super().wait(gen, timeout=self.deadline - monotonic())


def init_app(app: Flask, pooled: bool) -> None:
    """Prepare the databases; they are connected to at the first query, after a server's fork."""
    client: MongoClient[dict[str, Any]] = MongoClient(
        app.config["MONGODB_URL"],
        connect=False,
        maxPoolSize=app.config["MONGODB_POOL_SIZE"],
        timeoutMS=2000,  # PyMongo may look at the clock half a second late
        connectTimeoutMS=2000,
    )
    app.extensions["turns"] = FairSemaphore(app.config["MONGODB_POOL_SIZE"])
    database = client.get_default_database("refservers")
    app.extensions["articles"] = database["articles"]
    app.extensions["chunks"] = database["fs.chunks"]
    app.extensions["gridfs"] = GridFSBucket(database)

    url = app.config["DATABASE_URL"]
    options = {"autocommit": True, "row_factory": dict_row, "connect_timeout": 2}
    pool = ConnectionPool(
        url,
        connection_class=Connection,
        kwargs=options,
        min_size=0,
        max_size=app.config["DATABASE_POOL_SIZE"],
        timeout=TIMEOUT,
        reconnect_timeout=TIMEOUT,
        open=False,
    )
    connect = partial(lend, pool) if pooled else partial(Connection.connect, url, **options)
    app.extensions["postgresql"] = connect


@contextmanager
def lend(pool: ConnectionPool[Connection]) -> Iterator[Connection]:
    pool.open()
    with pool.connection() as connection:
        try:
            yield connection
        except psycopg.OperationalError:
            pool.drain()  # the other connections are as dead, and each would cost a request
            raise


def find_agents() -> list[DictRow]:
    deadline = monotonic() + TIMEOUT
    with current_app.extensions["postgresql"]() as connection:
        connection.deadline = deadline
        return connection.execute(AGENTS).fetchall()


def find_article(slug: str) -> dict[str, Any] | None:
    return in_turn(current_app.extensions["articles"].find_one, {"slug": slug})


def in_turn(operation: Callable[..., T], *args: Any) -> T:
    """Waits for one of MongoDB's connections here: in the driver's pool some wait for ever."""
    deadline = monotonic() + TIMEOUT
    turns = current_app.extensions["turns"]
    if not turns.acquire(TIMEOUT):
        raise WaitQueueTimeoutError("too many wait for MongoDB")
    try:
        with pymongo.timeout(max(deadline - monotonic() - 0.5, 0.1)):  # it may be that much late
            return operation(*args)
    finally:
        turns.release()
