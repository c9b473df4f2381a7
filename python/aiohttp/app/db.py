import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Any

import asyncpg
import pymongo
from aiohttp import web
from gridfs.asynchronous import AsyncGridFSBucket
from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import ConnectionFailure, ExecutionTimeout

from app.settings import Settings

logger = logging.getLogger(__name__)

SETTINGS = web.AppKey("settings", Settings)
MONGODB = web.AppKey("mongodb", AsyncDatabase[dict[str, Any]])
GRIDFS = web.AppKey("gridfs", AsyncGridFSBucket)
TURNS = web.AppKey("turns", asyncio.Semaphore)
POSTGRESQL = web.AppKey("postgresql", asyncpg.Pool)

TIMEOUT = 2.5  # seconds for an operation with all that it waits for

MONGODB_AWAY = (ConnectionFailure, ExecutionTimeout, TimeoutError)
POSTGRESQL_AWAY = (
    OSError,
    TimeoutError,
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


async def mongodb(app: web.Application) -> AsyncIterator[None]:
    settings = app[SETTINGS]
    client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(
        settings.mongodb_url,
        maxPoolSize=settings.mongodb_pool_size,
        timeoutMS=2000,
        connectTimeoutMS=2000,
    )
    app[MONGODB] = client.get_default_database()
    app[TURNS] = asyncio.Semaphore(settings.mongodb_pool_size)
    app[GRIDFS] = AsyncGridFSBucket(app[MONGODB])
    yield
    await close(client)


async def postgresql(app: web.Application) -> AsyncIterator[None]:
    settings = app[SETTINGS]
    app[POSTGRESQL] = await asyncpg.create_pool(
        settings.database_url,
        min_size=0,  # connect at the first query, so that the server starts without the database
        max_size=settings.database_pool_size,
    )
    yield
    await close(app[POSTGRESQL])


async def close(database: AsyncMongoClient[dict[str, Any]] | asyncpg.Pool) -> None:
    with suppress(TimeoutError):  # a database that is silent would never let go
        async with asyncio.timeout(1):
            await database.close()


@asynccontextmanager
async def turn(app: web.Application) -> AsyncIterator[None]:
    """Wait for one of the pool's connections here: a crowd that waits in the driver stalls it."""
    deadline = monotonic() + TIMEOUT
    async with asyncio.timeout(TIMEOUT):
        await app[TURNS].acquire()
    try:
        # https://www.mongodb.com/docs/languages/python/pymongo-driver/current/connect/connection-options/csot/
        with pymongo.timeout(max(deadline - monotonic() - 0.5, 0.1)):  # it may be that much late
            yield
    finally:
        app[TURNS].release()


async def find_agents(pool: asyncpg.Pool) -> list[dict[str, str | None]]:
    try:
        async with asyncio.timeout(TIMEOUT), pool.acquire() as connection:
            try:
                return [dict(row) for row in await connection.fetch(AGENTS)]
            except asyncio.CancelledError:
                connection.terminate()  # or its release waits for the server
                raise
    except POSTGRESQL_AWAY as error:
        logger.error("PostgreSQL: %r", error)
        raise web.HTTPServiceUnavailable from error


async def find_article(app: web.Application, slug: str) -> dict[str, Any] | None:
    try:
        async with turn(app):
            return await app[MONGODB].articles.find_one({"slug": slug})
    except MONGODB_AWAY as error:
        logger.error("MongoDB: %r", error)
        raise web.HTTPServiceUnavailable from error
