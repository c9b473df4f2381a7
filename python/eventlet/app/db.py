import logging
from typing import Any

import psycopg2
from eventlet import Timeout
from eventlet.db_pool import RawConnectionPool
from pymongo import MongoClient
from pymongo.database import Database
from pymongo.errors import PyMongoError

from app.responses import Unavailable
from app.settings import Settings

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
        connectTimeoutMS=2000,  # with the next, how soon it knows that connections are dead
        heartbeatFrequencyMS=2000,
    )


class ConnectionPool(RawConnectionPool):
    @classmethod
    def connect(cls, *args: Any, **kwargs: Any) -> psycopg2.extensions.connection:
        connection = super().connect(*args, **kwargs)
        connection.autocommit = True
        return connection


def postgresql(settings: Settings) -> ConnectionPool:
    return ConnectionPool(
        psycopg2,
        max_size=settings.database_pool_size,
        max_age=3600,
        max_idle=600,
        dsn=settings.database_url,
    )


def find_article(database: Database[dict[str, Any]], slug: str) -> dict[str, Any] | None:
    try:
        return database.articles.find_one({"slug": slug})
    except PyMongoError as error:
        logger.error("MongoDB: %r", error)
        raise Unavailable from error


def find_agents(pool: ConnectionPool) -> list[dict[str, str | None]]:
    try:
        with Timeout(TIMEOUT, TimeoutError), pool.item() as connection:
            try:
                cursor = connection.cursor()
                cursor.execute(AGENTS)
                names = [column.name for column in cursor.description]
                return [dict(zip(names, row, strict=True)) for row in cursor]
            except (psycopg2.OperationalError, TimeoutError):
                pool.clear()  # the other connections are dead too
                raise
    except (psycopg2.OperationalError, TimeoutError) as error:
        logger.error("PostgreSQL: %r", error)
        raise Unavailable from error
