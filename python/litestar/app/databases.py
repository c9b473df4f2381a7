from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from aiohttp import ClientSession, DummyCookieJar, TCPConnector
from litestar import Litestar
from litestar.datastructures import State
from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import ConnectionFailure, ExecutionTimeout

from app.settings import settings

UNAVAILABLE = (asyncpg.OperatorInterventionError, asyncpg.TooManyConnectionsError)
AWAY = (ConnectionFailure, ExecutionTimeout, asyncpg.PostgresConnectionError, *UNAVAILABLE)

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
"""


class AppState(State):
    mongodb: AsyncDatabase[dict[str, Any]]
    postgresql: asyncpg.Pool
    upstream: ClientSession


@asynccontextmanager
async def lifespan(app: Litestar) -> AsyncIterator[None]:
    url, size = settings.MONGODB_URL, settings.MONGODB_POOL_SIZE
    mongodb = AsyncMongoClient[dict[str, Any]](
        url, maxPoolSize=size, timeoutMS=3000, serverSelectionTimeoutMS=3000, socketTimeoutMS=3000
    )
    url, size = settings.DATABASE_URL, settings.DATABASE_POOL_SIZE
    postgresql = asyncpg.create_pool(url, min_size=0, max_size=size, command_timeout=3)
    client = ClientSession(connector=TCPConnector(limit=0), cookie_jar=DummyCookieJar())
    async with mongodb, postgresql, client as upstream:
        database = mongodb.get_default_database("refservers")
        app.state.update({"mongodb": database, "postgresql": postgresql, "upstream": upstream})
        yield


async def fetch(pool: asyncpg.Pool, query: str) -> list[dict[str, Any]]:
    try:
        async with pool.acquire(timeout=3) as connection:
            return [dict(row) for row in await connection.fetch(query)]
    except (OSError, asyncpg.exceptions.InternalClientError) as error:
        raise asyncpg.PostgresConnectionError(repr(error)) from error  # asyncpg lets them through
