"""MongoDB and PostgreSQL, with faults."""

import asyncio
import time
from typing import Any

import asyncpg
from faults import fault
from pymongo import AsyncMongoClient
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import ConnectionFailure, ExecutionTimeout

AWAY = (
    ConnectionFailure,
    ExecutionTimeout,
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
)

COLUMNS = "f.number, s.extension, s.context, s.state_interface"
AGENTS = f"""
    SELECT {COLUMNS}, 'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id
     ORDER BY f.number
"""


class Databases:
    def __init__(self, mongodb_url: str, database_url: str) -> None:
        self.client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(
            mongodb_url, timeoutMS=2500
        )
        self.database = self.client.get_default_database()
        self.database_url = database_url
        self.pool: asyncpg.Pool | None = None
        self.cache: dict[str, Any] = {}
        self.failed = False

    async def articles(self, slug: str) -> dict[str, Any] | None:
        if fault("cached-article") and slug in self.cache:
            return dict(self.cache[slug])
        found = await self.database.articles.find_one({"slug": slug})
        self.cache[slug] = dict(found or {})
        return found

    async def agents(self) -> list[dict[str, Any]]:
        if fault("cached-agents") and "agents" in self.cache:
            return list(self.cache["agents"])
        self.cache["agents"] = [dict(row) for row in await self._fetch(self._query())]
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
        if self.pool is None:
            self.pool = await asyncpg.create_pool(self.database_url, min_size=0, max_size=10)
        async with asyncio.timeout(2.5), self.pool.acquire() as connection:
            try:
                return await connection.fetch(query)
            except asyncio.CancelledError:
                connection.terminate()
                raise

    def stored(self) -> AsyncCollection[dict[str, Any]]:
        return self.database["fs.files"]

    def chunks(self) -> AsyncCollection[dict[str, Any]]:
        return self.database["fs.chunks"]

    def unavailable(self) -> int:
        """The status while a database is away."""
        self.failed = True
        if fault("outage-stops-everything"):
            time.sleep(3)
        return 500 if fault("database-500") else 503
