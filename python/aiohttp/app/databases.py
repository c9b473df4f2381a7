from collections.abc import AsyncIterator

import asyncpg
from aiohttp import ClientSession, TCPConnector, web
from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import ConnectionFailure, ExecutionTimeout

from app.settings import settings

MONGODB = web.AppKey("mongodb", AsyncDatabase[dict[str, object]])
POSTGRESQL = web.AppKey("postgresql", asyncpg.Pool)
UPSTREAM = web.AppKey("upstream", ClientSession)

AWAY = (ConnectionFailure, ExecutionTimeout, asyncpg.PostgresConnectionError)
UNAVAILABLE = (asyncpg.OperatorInterventionError, asyncpg.TooManyConnectionsError)

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
"""


async def mongodb(app: web.Application) -> AsyncIterator[None]:
    url, size = settings.MONGODB_URL, settings.MONGODB_POOL_SIZE
    async with AsyncMongoClient[dict[str, object]](url, maxPoolSize=size, timeoutMS=4000) as client:
        app[MONGODB] = client.get_default_database("refservers")
        yield


async def postgresql(app: web.Application) -> AsyncIterator[None]:
    url, size = settings.DATABASE_URL, settings.DATABASE_POOL_SIZE
    async with asyncpg.create_pool(url, min_size=0, max_size=size, command_timeout=3) as pool:
        app[POSTGRESQL] = pool
        yield


async def upstream(app: web.Application) -> AsyncIterator[None]:
    async with ClientSession(connector=TCPConnector(limit=0)) as session:  # calls never queue
        app[UPSTREAM] = session
        yield


async def fetch(pool: asyncpg.Pool, query: str) -> list[dict[str, object]]:
    try:
        async with pool.acquire(timeout=3) as connection:
            return [dict(row) for row in await connection.fetch(query)]
    # asyncpg lets errors of the socket through, and its own of a connection that has just ended.
    except (OSError, asyncpg.exceptions.InternalClientError, *UNAVAILABLE) as error:
        raise asyncpg.PostgresConnectionError(repr(error)) from error
