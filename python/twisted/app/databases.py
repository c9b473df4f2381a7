import asyncio
from collections.abc import Awaitable
from typing import Any, NoReturn

import asyncpg
from pymongo import AsyncMongoClient
from pymongo.errors import ConnectionFailure, ExecutionTimeout
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from app.settings import settings

UNAVAILABLE = (asyncpg.OperatorInterventionError, asyncpg.TooManyConnectionsError)
AWAY = (ConnectionFailure, ExecutionTimeout, asyncpg.PostgresConnectionError, *UNAVAILABLE)

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
"""

mongodb = AsyncMongoClient[dict[str, Any]](
    settings.MONGODB_URL,
    maxPoolSize=settings.MONGODB_POOL_SIZE,
    timeoutMS=3000,
    serverSelectionTimeoutMS=3000,
    socketTimeoutMS=3000,
).get_default_database("refservers")
postgresql = asyncpg.create_pool(
    settings.DATABASE_URL, min_size=0, max_size=settings.DATABASE_POOL_SIZE, command_timeout=3
)


def as_deferred(awaitable: Awaitable[Any]) -> Deferred[Any]:
    """Let Twisted's coroutines await the drivers, which are asyncio's."""
    return Deferred.fromFuture(asyncio.ensure_future(awaitable)).addErrback(cancelled)


def cancelled(failure: Failure) -> NoReturn:
    failure.trap(asyncio.CancelledError)
    raise CancelledError from failure.value


async def fetch(pool: asyncpg.Pool, query: str) -> list[dict[str, Any]]:
    try:
        async with pool.acquire(timeout=3) as connection:
            return [dict(row) for row in await connection.fetch(query)]
    # asyncpg lets errors of the socket through, and its own of a connection that has just ended.
    except (OSError, asyncpg.exceptions.InternalClientError) as error:
        raise asyncpg.PostgresConnectionError(repr(error)) from error
