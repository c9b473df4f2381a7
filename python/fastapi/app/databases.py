from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import asyncpg
from aiohttp import ClientSession, DummyCookieJar, TCPConnector
from fastapi import Depends, FastAPI, Request
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


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
    url, size = settings.MONGODB_URL, settings.MONGODB_POOL_SIZE
    mongodb = AsyncMongoClient[dict[str, Any]](
        url, maxPoolSize=size, timeoutMS=3000, serverSelectionTimeoutMS=3000, socketTimeoutMS=3000
    )
    url, size = settings.DATABASE_URL, settings.DATABASE_POOL_SIZE
    postgresql = asyncpg.create_pool(url, min_size=0, max_size=size, command_timeout=3)
    client = ClientSession(connector=TCPConnector(limit=0), cookie_jar=DummyCookieJar())
    async with mongodb, postgresql, client as upstream:
        yield {"mongodb": mongodb, "postgresql": postgresql, "upstream": upstream}


async def get_mongodb(request: Request) -> Any:
    return request.state.mongodb.get_default_database("refservers")


async def get_postgresql(request: Request) -> Any:
    return request.state.postgresql


async def get_upstream(request: Request) -> Any:
    return request.state.upstream


MongoDB = Annotated[AsyncDatabase[dict[str, Any]], Depends(get_mongodb)]
PostgreSQL = Annotated[asyncpg.Pool, Depends(get_postgresql)]
Upstream = Annotated[ClientSession, Depends(get_upstream)]


async def fetch(pool: asyncpg.Pool, query: str) -> list[dict[str, Any]]:
    try:
        async with pool.acquire(timeout=3) as connection:
            return [dict(row) for row in await connection.fetch(query)]
    # asyncpg lets errors of the socket through, and its own of a connection that has just ended.
    except (OSError, asyncpg.exceptions.InternalClientError) as error:
        raise asyncpg.PostgresConnectionError(repr(error)) from error
