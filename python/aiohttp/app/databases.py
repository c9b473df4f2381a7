from collections.abc import AsyncIterator

import asyncpg
from aiohttp import web
from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import ConnectionFailure

from app import settings

MONGODB = web.AppKey("mongodb", AsyncDatabase)
POSTGRESQL = web.AppKey("postgresql", asyncpg.Pool)

# asyncpg raises the socket's own OSError when it cannot connect.
AWAY = (ConnectionFailure, asyncpg.PostgresConnectionError, asyncpg.CannotConnectNowError, OSError)

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
"""


async def mongodb(app: web.Application) -> AsyncIterator[None]:
    async with AsyncMongoClient(
        settings.MONGODB_URL, maxPoolSize=settings.MONGODB_POOL_SIZE, serverSelectionTimeoutMS=3000
    ) as client:
        app[MONGODB] = client.get_default_database("refservers")
        yield


async def postgresql(app: web.Application) -> AsyncIterator[None]:
    async with asyncpg.create_pool(
        settings.DATABASE_URL, min_size=0, max_size=settings.DATABASE_POOL_SIZE
    ) as pool:
        app[POSTGRESQL] = pool
        yield
