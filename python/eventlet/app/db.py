import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, TypeVar

import psycopg2
import pymongo
from eventlet import Timeout
from psycopg2.extensions import connection as Connection
from pymongo import MongoClient
from pymongo.collection import Collection
from pymongo.errors import PyMongoError, WaitQueueTimeoutError

from app.responses import Unavailable
from app.semaphore import FairSemaphore
from app.settings import Settings

T = TypeVar("T")

logger = logging.getLogger(__name__)

TIMEOUT = 2.5  # seconds for an operation with all that it waits for

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f
      LEFT JOIN agent_login_status s ON s.agent_id = f.id
     ORDER BY f.number
"""


def mongodb(settings: Settings) -> MongoClient[dict[str, Any]]:
    return MongoClient(
        settings.mongodb_url,
        maxPoolSize=settings.mongodb_pool_size,
        timeoutMS=int((TIMEOUT - 0.5) * 1000),  # it looks for a server every 0.5 s
        # it takes the sum of these to notice that connections are dead
        connectTimeoutMS=2000,
        heartbeatFrequencyMS=2000,
    )


class ConnectionPool:
    def __init__(self, url: str, size: int) -> None:
        self._url = url
        self._idle: list[Connection] = []
        self._places = FairSemaphore(size)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        self._places.acquire()
        try:
            connection = self._idle.pop() if self._idle else self._connect()
            yield connection
            self._idle.append(connection)
        except (psycopg2.OperationalError, TimeoutError):
            self._idle.clear()  # the other connections are dead too
            raise
        finally:
            self._places.release()

    def _connect(self) -> Connection:
        connection = psycopg2.connect(self._url)
        connection.autocommit = True
        return connection


def in_turn(turns: FairSemaphore, operation: Callable[..., T], *args: Any) -> T:
    """Waits for one of MongoDB's connections here: in the driver's pool some wait for ever."""
    deadline = monotonic() + TIMEOUT
    if not turns.acquire(TIMEOUT):
        raise WaitQueueTimeoutError("too many wait for MongoDB")
    try:
        with pymongo.timeout(max(deadline - monotonic() - 0.5, 0.1)):  # it may be that much late
            return operation(*args)
    finally:
        turns.release()


def find_article(
    turns: FairSemaphore, articles: Collection[dict[str, Any]], slug: str
) -> dict[str, Any] | None:
    try:
        return in_turn(turns, articles.find_one, {"slug": slug})
    except PyMongoError as error:
        logger.error("MongoDB: %r", error)
        raise Unavailable from error


def find_agents(pool: ConnectionPool) -> list[dict[str, str | None]]:
    try:
        with Timeout(TIMEOUT, TimeoutError), pool.connection() as connection:
            cursor = connection.cursor()
            cursor.execute(AGENTS)
            names = [column.name for column in cursor.description]
            # strict would cost a third more
            return [dict(zip(names, row)) for row in cursor]  # noqa: B905
    except (psycopg2.OperationalError, TimeoutError) as error:
        logger.error("PostgreSQL: %r", error)
        raise Unavailable from error
