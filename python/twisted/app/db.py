import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Any, Self

import asyncpg
from bson import ObjectId
from pymongo.errors import ConnectionFailure
from twisted.internet import defer, error, reactor
from twisted.logger import Logger
from txmongo.connection import ConnectionPool
from txmongo.filter import sort

from app.settings import Settings
from app.site import Problem

TIMEOUT = 2.5  # seconds for an operation with all that it waits for

MONGODB_AWAY = (ConnectionFailure, TimeoutError, error.ConnectionClosed)
POSTGRESQL_AWAY = (
    OSError,
    TimeoutError,
    defer.TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
)

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f
      LEFT JOIN agent_login_status s ON s.agent_id = f.id
     ORDER BY f.number
"""

log = Logger()


@contextmanager
def unavailable_if(database: str, *away: type[Exception]) -> Iterator[None]:
    try:
        yield
    except away as fault:
        log.error("{database}: {fault!r}", database=database, fault=fault)
        raise Problem(503, headers={"Retry-After": "1"}) from fault


class MongoDB:
    def __init__(self, settings: Settings) -> None:
        url, size = settings.mongodb_url, settings.mongodb_pool_size
        self.pool = ConnectionPool(url, pool_size=size, max_delay=1.0)
        database = self.pool.get_default_database()
        self.articles = database["articles"]
        self.files = database["fs.files"]
        self.chunks = database["fs.chunks"]

    async def find_article(self, slug: str) -> dict[str, Any] | None:
        return await self.result_of(self.articles.find_one({"slug": slug}))

    async def find_file(self, name: str) -> dict[str, Any] | None:
        newest = sort(("uploadDate", -1))
        return await self.result_of(self.files.find_one({"filename": name}, sort=newest))

    async def read_file(self, file_id: ObjectId) -> AsyncGenerator[bytes, None]:
        in_order = sort(("n", 1))
        chunks = self.chunks.find({"files_id": file_id}, sort=in_order, batch_size=2)
        try:
            while not chunks.exhausted:
                for chunk in await self.result_of(chunks.next_batch()):
                    yield chunk["data"]
        finally:
            chunks.close()

    async def result_of(self, operation: defer.Deferred[Any]) -> Any:
        with unavailable_if("MongoDB", *MONGODB_AWAY):
            return await operation.addTimeout(TIMEOUT, reactor, self.drop_connections)

    def drop_connections(self, result: Any, timeout: float) -> None:
        # txmongo goes on using a connection that answers no more
        for connection in self.pool.getprotocols():
            if connection.instance:
                connection.instance.transport.abortConnection()
        raise TimeoutError(f"no answer within {timeout} s")


async def no_reset(connection: asyncpg.Connection) -> None:
    """Resets nothing, where asyncpg asks the server to: the queries here leave nothing behind."""


class PostgreSQL:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self.pool = pool

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        pool = await asyncpg.create_pool(
            settings.database_url,
            min_size=0,  # connect at the first query, so that the server starts without it
            max_size=settings.database_pool_size,
            max_inactive_connection_lifetime=0,  # or each query would start and stop a timer
            reset=no_reset,
        )
        return cls(pool)

    async def find_agents(self) -> list[dict[str, str | None]]:
        # a Deferred of its own: who gives up does not wait until asyncpg has cleaned up
        rows: defer.Deferred[list[asyncpg.Record]] = defer.Deferred()
        query = asyncio.ensure_future(self.fetch(AGENTS))
        defer.Deferred.fromFuture(query).chainDeferred(rows)
        with unavailable_if("PostgreSQL", *POSTGRESQL_AWAY):
            return [dict(row.items()) for row in await rows.addTimeout(TIMEOUT, reactor)]

    async def fetch(self, query: str) -> list[asyncpg.Record]:
        async with self.pool.acquire(timeout=TIMEOUT) as connection:
            try:
                return await connection.fetch(query, timeout=TIMEOUT)
            except TimeoutError:
                connection.terminate()
                raise
