import logging
from collections.abc import Callable
from time import monotonic
from typing import Any, TypeVar

import psycopg
import pymongo
from gevent import Timeout
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool
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


def postgresql(settings: Settings) -> ConnectionPool:
    return ConnectionPool(
        settings.database_url,
        min_size=0,  # connect at the first query, so that the server starts without the database
        max_size=settings.database_pool_size,
        timeout=TIMEOUT,
        reconnect_timeout=0,  # the next query tries again
        kwargs={"autocommit": True, "connect_timeout": 2, "row_factory": dict_row},
    )


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
            try:
                return connection.execute(AGENTS).fetchall()
            except (psycopg.OperationalError, TimeoutError):
                pool.drain()  # the other connections are dead too
                raise
    except (psycopg.OperationalError, TimeoutError) as error:
        logger.error("PostgreSQL: %r", error)
        raise Unavailable from error
