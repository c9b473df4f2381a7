import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from time import monotonic
from typing import Any

import asyncpg
import pymongo
from bson import ObjectId
from fastapi import HTTPException
from gridfs.asynchronous import AsyncGridFSBucket, AsyncGridOut
from gridfs.errors import NoFile
from pymongo.asynchronous.cursor import AsyncCursor
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import ConnectionFailure, ExecutionTimeout

logger = logging.getLogger("uvicorn.error")

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


async def no_reset(connection: asyncpg.Connection) -> None:
    """Resets nothing, where asyncpg asks the server to: the queries here leave nothing behind."""


async def find_agents(pool: asyncpg.Pool) -> list[dict[str, str | None]]:
    try:
        async with asyncio.timeout(TIMEOUT), pool.acquire() as connection:
            try:
                return [dict(row.items()) for row in await connection.fetch(AGENTS)]
            except asyncio.CancelledError:
                connection.terminate()  # or its release waits for a server that may be silent
                raise
    except POSTGRESQL_AWAY as error:
        logger.error("PostgreSQL: %r", error)
        raise HTTPException(503) from error


class MongoDB:
    """MongoDB, waited for in turn: a crowd that waits in the driver's pool stalls it."""

    def __init__(self, database: AsyncDatabase[dict[str, Any]], connections: int) -> None:
        self.articles = database["articles"]
        self.files = AsyncGridFSBucket(database)
        self.chunks = database["fs.chunks"]
        self.turns = asyncio.Semaphore(connections)
        self.reads: set[asyncio.Task[list[dict[str, Any]]]] = set()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        deadline = monotonic() + TIMEOUT
        try:
            async with asyncio.timeout(TIMEOUT) if self.turns.locked() else nullcontext():
                await self.turns.acquire()
            try:
                # https://www.mongodb.com/docs/languages/python/pymongo-driver/current/connect/connection-options/csot/
                with pymongo.timeout(max(deadline - monotonic() - 0.5, 0.1)):  # it may be late
                    yield
            finally:
                self.turns.release()
        except MONGODB_AWAY as error:
            logger.error("MongoDB: %r", error)
            raise HTTPException(503) from error


async def find_article(mongodb: MongoDB, slug: str) -> dict[str, Any]:
    async with mongodb.turn():
        article = await mongodb.articles.find_one({"slug": slug})
    if article is None:
        raise HTTPException(404)
    return article


async def find_file(mongodb: MongoDB, name: str) -> AsyncGridOut:
    try:
        async with mongodb.turn():
            return await mongodb.files.open_download_stream_by_name(name)
    except NoFile:
        raise HTTPException(404) from None


async def read_chunks(mongodb: MongoDB, file_id: ObjectId) -> AsyncIterator[bytes]:
    # GridOut reads 16 MB at a time; https://github.com/mongodb/specifications has the collection
    chunks = mongodb.chunks.find({"files_id": file_id}, sort={"n": 1}, batch_size=2)
    while chunks.alive:
        # Starlette cancels this if the client goes, and PyMongo, cancelled, may keep a lock
        # for ever before Python 3.12: python/cpython#86766
        read = asyncio.create_task(read_batch(mongodb, chunks))
        mongodb.reads.add(read)
        read.add_done_callback(mongodb.reads.discard)
        for chunk in await asyncio.shield(read):
            yield chunk["data"]


async def read_batch(mongodb: MongoDB, chunks: AsyncCursor[dict[str, Any]]) -> list[dict[str, Any]]:
    async with mongodb.turn():
        return await chunks.to_list(2)
