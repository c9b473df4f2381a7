import asyncio
from collections.abc import AsyncIterator
from typing import Any, Self

import asyncpg
from bson import ObjectId
from pymongo.errors import ConnectionFailure
from twisted.internet import defer, error, reactor
from twisted.logger import Logger
from txmongo.collection import Collection
from txmongo.connection import ConnectionPool
from txmongo.errors import TimeExceeded
from txmongo.filter import sort

from app.settings import Settings
from app.site import Problem

TIMEOUT = 2.5  # seconds for an operation with all that it waits for

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f
      LEFT JOIN agent_login_status s ON s.agent_id = f.id
     ORDER BY f.number
"""


class MongoDB:
    log = Logger()
    away = (ConnectionFailure, TimeExceeded, defer.TimeoutError, error.ConnectionClosed)

    def __init__(self, settings: Settings) -> None:
        pool = ConnectionPool(
            settings.mongodb_url,
            pool_size=settings.mongodb_pool_size,
            retry_delay=1.0,
            max_delay=1.0,
            ping_interval=1,
            ping_timeout=2,
        )
        self.database = pool.get_default_database()

    async def find_article(self, slug: str) -> dict[str, Any] | None:
        return await self.find_one(self.database.articles, {"slug": slug})

    async def find_file(self, name: str) -> dict[str, Any] | None:
        newest = sort(("uploadDate", -1))
        return await self.find_one(self.database.fs.files, {"filename": name}, sort=newest)

    async def find_one(self, collection: Collection, *args: Any, **kwargs: Any) -> Any:
        try:
            return await collection.find_one(*args, **kwargs).addTimeout(TIMEOUT, reactor)
        except self.away as fault:
            raise self.unavailable(fault) from fault

    async def chunks(self, file_id: ObjectId) -> AsyncIterator[bytes]:
        query, order = {"files_id": file_id}, sort(("n", 1))
        chunks = self.database.fs.chunks.find(query, sort=order, batch_size=4, timeout=TIMEOUT)
        try:
            async for chunk in chunks:
                yield chunk["data"]
        except self.away as fault:
            raise self.unavailable(fault) from fault

    def unavailable(self, fault: Exception) -> Problem:
        self.log.error("MongoDB: {fault!r}", fault=fault)
        return Problem(503, headers={"Retry-After": "1"})


class PostgreSQL:
    log = Logger()
    away = (
        OSError,
        TimeoutError,
        defer.TimeoutError,
        asyncpg.InterfaceError,
        asyncpg.PostgresConnectionError,
        asyncpg.OperatorInterventionError,
        asyncpg.InsufficientResourcesError,
    )

    def __init__(self, pool: asyncpg.Pool) -> None:
        self.pool = pool

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        pool = asyncpg.create_pool(
            settings.database_url,
            min_size=0,  # connect at the first query, so that the server starts without it
            max_size=settings.database_pool_size,
        )
        return cls(await pool)

    async def find_agents(self) -> list[dict[str, str | None]]:
        # a Deferred of its own: whoever gives up need not wait until asyncpg has cleaned up
        rows: defer.Deferred[list[asyncpg.Record]] = defer.Deferred()
        query = asyncio.ensure_future(self.fetch(AGENTS))
        defer.Deferred.fromFuture(query).chainDeferred(rows)
        try:
            return [dict(row) for row in await rows.addTimeout(TIMEOUT, reactor)]
        except self.away as fault:
            self.log.error("PostgreSQL: {fault!r}", fault=fault)
            raise Problem(503, headers={"Retry-After": "1"}) from fault

    async def fetch(self, query: str) -> list[asyncpg.Record]:
        async with self.pool.acquire(timeout=TIMEOUT) as connection:
            return await connection.fetch(query, timeout=TIMEOUT)
