"""MongoDB and PostgreSQL, with faults and switches."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pymongo
from faults import fault, switched
from pymongo import AsyncMongoClient
from pymongo.errors import ConnectionFailure, ExecutionTimeout

AWAY = (
    ConnectionFailure,
    ExecutionTimeout,
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.TooManyConnectionsError,
)

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id
     ORDER BY f.number
"""


class Databases:
    def __init__(self, mongodb_url: str, database_url: str) -> None:
        self.database_url = database_url
        size = int(os.environ.get("MONGODB_POOL_SIZE", "10"))
        client = AsyncMongoClient[dict[str, Any]](mongodb_url, timeoutMS=2500, maxPoolSize=size)
        self.database = client.get_default_database()
        self.stored, self.chunks = self.database["fs.files"], self.database["fs.chunks"]
        self.pool: asyncpg.Pool | None = None
        self.connection: asyncpg.Connection | None = None
        self.cache: dict[str, Any] = {}
        self.failed = False
        self.switches = Switches(database_url)

    async def articles(self, slug: str) -> dict[str, Any] | None:
        if fault("cached-article") and slug in self.cache:
            return dict(self.cache[slug])
        found = await self._find(slug)
        self.cache[slug] = dict(found or {})
        return found

    async def _find(self, slug: str) -> dict[str, Any] | None:
        with pymongo.timeout(12 if fault("mongodb-silence-waited-for") else 2.5):
            return await self.database.articles.find_one({"slug": slug})

    async def agents(self) -> list[dict[str, Any]]:
        if fault("cached-agents") and "agents" in self.cache:
            return list(self.cache["agents"])
        async with self.switches.operation():
            try:
                rows = await self._fetch(self._query())
            except (asyncpg.CannotConnectNowError, asyncpg.TooManyConnectionsError) as error:
                if fault("rejection-500"):
                    raise RuntimeError from error
                raise
            self.cache["agents"] = [dict(row) for row in rows]
        return list(self.cache["agents"])

    def _query(self) -> str:
        if fault("agents-inner-join"):
            return AGENTS.replace("LEFT JOIN", "JOIN")
        if fault("agents-unordered"):
            return AGENTS.replace("ORDER BY f.number", "ORDER BY f.id")
        return AGENTS

    async def _fetch(self, query: str) -> list[asyncpg.Record]:
        if fault("agents-connect"):
            connection = await asyncpg.connect(self.database_url)
            try:
                return await connection.fetch(query)
            finally:
                await connection.close()
        if fault("termination-500"):
            return await self._fetch_on_one_connection(query)
        if self.pool is None:
            size = int(os.environ.get("DATABASE_POOL_SIZE", "10"))
            self.pool = await asyncpg.create_pool(self.database_url, min_size=0, max_size=size)
        patience = 12 if fault("silence-waited-for") else 2.5
        async with asyncio.timeout(patience), self.pool.acquire() as connection:
            try:
                return await connection.fetch(query)
            except asyncio.CancelledError:
                connection.terminate()
                raise

    async def _fetch_on_one_connection(self, query: str) -> list[asyncpg.Record]:
        """Fail for another reason once the only connection has ended."""
        if self.connection is None:
            self.connection = await asyncpg.connect(self.database_url)
        try:
            return await self.connection.fetch(query)
        except (asyncpg.InterfaceError, asyncpg.PostgresConnectionError) as error:
            self.connection = None
            raise RuntimeError from error

    def unavailable(self) -> int:
        """The status while a database is unavailable."""
        self.failed = True
        if fault("outage-stops-everything"):
            time.sleep(6)
        otherwise = switched("mongodb-starts") == "answers otherwise"
        return 500 if fault("database-500") or otherwise else 503


class Switches:
    """The switches that change operations on PostgreSQL."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.waiting = 0  # operations in flight
        self.away_until = 0.0
        self.watch: asyncio.Task[float] | None = None

    @asynccontextmanager
    async def operation(self) -> AsyncIterator[None]:
        if time.monotonic() < self.away_until:
            raise ConnectionFailure("switched to be away")
        await self.cut()
        self.waiting += 1
        try:
            yield
        except AWAY:
            if switched("postgresql-hangs") == "none within 8 s":
                await asyncio.sleep(10)
            raise
        finally:
            self.waiting -= 1

    async def cut(self) -> None:
        """Fail if the database's connections have been cut since the last operation."""
        answer = switched("postgresql-cut")
        if answer in (None, "served"):
            return
        if self.watch is None:
            self.watch = await watch(self.url)
        elif self.watch.done():
            longer = answer == "errors for longer"
            self.away_until = await self.watch + (15 if longer else 0)
            self.watch = None
            raise ConnectionFailure("switched to have been cut")


async def watch(url: str) -> asyncio.Task[float]:
    """Open an idle connection; the task returns the time of its end."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)

    async def end() -> float:
        await reader.read()
        writer.close()
        return time.monotonic()

    return asyncio.ensure_future(end())
