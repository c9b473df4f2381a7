import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from time import monotonic
from typing import Any

import asyncpg
import pymongo
from aiohttp import web
from gridfs.asynchronous import AsyncGridFSBucket
from pymongo import AsyncMongoClient
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import ConnectionFailure, ExecutionTimeout

from app.settings import Settings

logger = logging.getLogger(__name__)

SETTINGS = web.AppKey("settings", Settings)
ARTICLES = web.AppKey("articles", AsyncCollection[dict[str, Any]])
CHUNKS = web.AppKey("chunks", AsyncCollection[dict[str, Any]])
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
        connectTimeoutMS=2000,
    )
    database = client.get_default_database("refservers")
    app[ARTICLES] = database["articles"]
    app[CHUNKS] = database["fs.chunks"]
    app[GRIDFS] = AsyncGridFSBucket(database)
    app[TURNS] = asyncio.Semaphore(settings.mongodb_pool_size)
    yield
    await close(client)


async def postgresql(app: web.Application) -> AsyncIterator[None]:
    settings = app[SETTINGS]
    app[POSTGRESQL] = await asyncpg.create_pool(
        settings.database_url,
        min_size=0,  # connect at the first query, so that the server starts without the database
        max_size=settings.database_pool_size,
        max_inactive_connection_lifetime=0,  # or each query would start and stop a timer
        reset=no_reset,
    )
    yield
    await close(app[POSTGRESQL])


async def no_reset(connection: asyncpg.Connection) -> None:
    """Resets nothing, where asyncpg asks the server to: the queries here leave nothing behind."""


async def close(database: AsyncMongoClient[dict[str, Any]] | asyncpg.Pool) -> None:
    with suppress(TimeoutError):  # a database that is silent would never let go
        async with asyncio.timeout(1):
            await database.close()


async def find_agents(pool: asyncpg.Pool) -> list[dict[str, str | None]]:
    try:
        async with asyncio.timeout(TIMEOUT), pool.acquire() as connection:
            try:
                return [dict(row.items()) for row in await connection.fetch(AGENTS)]
            except asyncio.CancelledError:
                connection.terminate()  # or its release waits for the server
                raise
    except POSTGRESQL_AWAY as error:
        logger.error("PostgreSQL: %r", error)
        raise web.HTTPServiceUnavailable from error


@asynccontextmanager
async def turn(app: web.Application) -> AsyncIterator[None]:
    """MongoDB, waited for in turn: a crowd that waits in the driver's pool stalls it."""
    deadline = monotonic() + TIMEOUT
    try:
        async with asyncio.timeout(TIMEOUT) if app[TURNS].locked() else nullcontext():
            await app[TURNS].acquire()
        try:
            # https://www.mongodb.com/docs/languages/python/pymongo-driver/current/connect/connection-options/csot/
            with pymongo.timeout(max(deadline - monotonic() - 0.5, 0.1)):  # it may be late
                yield
        finally:
            app[TURNS].release()
    except MONGODB_AWAY as error:
        logger.error("MongoDB: %r", error)
        raise web.HTTPServiceUnavailable from error


async def find_article(app: web.Application, slug: str) -> dict[str, Any] | None:
    async with turn(app):
        return await app[ARTICLES].find_one({"slug": slug})
