import asyncio
from collections.abc import Awaitable
from typing import Any, NoReturn, TypeVar

import asyncpg
from pymongo import AsyncMongoClient
from pymongo.errors import ConnectionFailure, ExecutionTimeout
from twisted.internet.defer import CancelledError, Deferred, gatherResults
from twisted.python.failure import Failure
from twisted.web.client import Agent, HTTPConnectionPool

from app.settings import settings

T = TypeVar("T")

AWAY = (ConnectionFailure, ExecutionTimeout, asyncpg.PostgresConnectionError)

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
"""


class Clients:
    """What the views call: MongoDB, PostgreSQL and the upstream."""

    def __init__(self, reactor: Any) -> None:
        url, size = settings.MONGODB_URL, settings.MONGODB_POOL_SIZE
        self.mongodb_client = AsyncMongoClient[dict[str, Any]](
            url, maxPoolSize=size, timeoutMS=4000
        )
        self.mongodb = self.mongodb_client.get_default_database("refservers")
        url, size = settings.DATABASE_URL, settings.DATABASE_POOL_SIZE
        self.postgresql = asyncpg.create_pool(url, min_size=0, max_size=size, command_timeout=4)
        self.upstream_pool = HTTPConnectionPool(reactor)
        self.upstream_pool.maxPersistentPerHost = 2000
        self.upstream = Agent(reactor, pool=self.upstream_pool)

    async def open(self) -> None:
        await as_deferred(self.postgresql)

    async def close(self) -> None:
        databases = [self.mongodb_client.close(), self.postgresql.close()]
        closed = [as_deferred(database) for database in databases]
        await gatherResults([*closed, self.upstream_pool.closeCachedConnections()])


def as_deferred(awaitable: Awaitable[T]) -> Deferred[T]:
    """Let Twisted's coroutines await the drivers, which are asyncio's."""
    return Deferred.fromFuture(asyncio.ensure_future(awaitable)).addErrback(cancelled)


def cancelled(failure: Failure) -> NoReturn:
    failure.trap(asyncio.CancelledError)
    raise CancelledError from failure.value


async def fetch(pool: asyncpg.Pool, query: str) -> list[dict[str, Any]]:
    try:
        async with pool.acquire(timeout=3) as connection:
            return [dict(row) for row in await connection.fetch(query)]
    # asyncpg lets the socket's own errors and timeouts through.
    except (OSError, asyncpg.OperatorInterventionError, asyncpg.TooManyConnectionsError) as error:
        raise asyncpg.PostgresConnectionError(repr(error)) from error
