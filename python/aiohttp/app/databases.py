from collections.abc import AsyncIterator

import asyncpg
from aiohttp import ClientSession, DummyCookieJar, TCPConnector, web
from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import ConnectionFailure, ExecutionTimeout

from app.settings import settings

MONGODB = web.AppKey("mongodb", AsyncDatabase[dict[str, object]])
POSTGRESQL = web.AppKey("postgresql", asyncpg.Pool)
UPSTREAM = web.AppKey("upstream", ClientSession)

UNAVAILABLE = (asyncpg.OperatorInterventionError, asyncpg.TooManyConnectionsError)
AWAY = (ConnectionFailure, ExecutionTimeout, asyncpg.PostgresConnectionError, *UNAVAILABLE)

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
"""


async def connect(app: web.Application) -> AsyncIterator[None]:
    url, size = settings.MONGODB_URL, settings.MONGODB_POOL_SIZE
    mongodb = AsyncMongoClient[dict[str, object]](
        url, maxPoolSize=size, timeoutMS=3000, serverSelectionTimeoutMS=3000, socketTimeoutMS=3000
    )
    url, size = settings.DATABASE_URL, settings.DATABASE_POOL_SIZE
    postgresql = asyncpg.create_pool(url, min_size=0, max_size=size, command_timeout=3)
    # Calls never queue, and no cookie of one client's call goes out with another's.
    client = ClientSession(connector=TCPConnector(limit=0), cookie_jar=DummyCookieJar())
    async with mongodb, postgresql, client as upstream:
        app[MONGODB] = mongodb.get_default_database("refservers")
        app[POSTGRESQL] = postgresql
        app[UPSTREAM] = upstream
        yield


async def fetch(pool: asyncpg.Pool, query: str) -> list[dict[str, object]]:
    try:
        async with pool.acquire(timeout=3) as connection:
            return [dict(row) for row in await connection.fetch(query)]
    # asyncpg lets errors of the socket through, and its own of a connection that has just ended.
    except (OSError, asyncpg.exceptions.InternalClientError) as error:
        raise asyncpg.PostgresConnectionError(repr(error)) from error
