import asyncio
from collections.abc import Awaitable
from typing import NoReturn, TypeVar

import asyncpg
from pymongo import AsyncMongoClient
from pymongo.errors import ConnectionFailure
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from werkzeug.exceptions import ServiceUnavailable

from app import settings

T = TypeVar("T")

# asyncpg raises the socket's own OSError when it cannot connect.
AWAY = (ConnectionFailure, asyncpg.PostgresConnectionError, asyncpg.CannotConnectNowError, OSError)

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
"""

mongodb = AsyncMongoClient(
    settings.MONGODB_URL, maxPoolSize=settings.MONGODB_POOL_SIZE, serverSelectionTimeoutMS=3000
).get_default_database("refservers")
postgresql = asyncpg.create_pool(
    settings.DATABASE_URL, min_size=0, max_size=settings.DATABASE_POOL_SIZE
)


def as_deferred(awaitable: Awaitable[T]) -> Deferred[T]:
    """Let Twisted's coroutines await the drivers, which are asyncio's."""
    return Deferred.fromFuture(asyncio.ensure_future(awaitable)).addErrback(unavailable)


def unavailable(failure: Failure) -> NoReturn:
    failure.trap(*AWAY)
    raise ServiceUnavailable(repr(failure.value)) from failure.value
