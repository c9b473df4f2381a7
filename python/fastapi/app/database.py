import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
from bson import ObjectId
from fastapi import HTTPException
from gridfs.asynchronous import AsyncGridFSBucket, AsyncGridOut
from gridfs.errors import NoFile
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import ConnectionFailure, ExecutionTimeout

logger = logging.getLogger("uvicorn.error")

MongoDB = AsyncDatabase[dict[str, Any]]

TIMEOUT = 2.5  # seconds for an operation with all that it waits for

MONGODB_AWAY = (ConnectionFailure, ExecutionTimeout)
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


async def find_agents(pool: asyncpg.Pool) -> list[dict[str, str | None]]:
    try:
        async with asyncio.timeout(TIMEOUT), pool.acquire() as connection:
            try:
                return [dict(row) for row in await connection.fetch(AGENTS)]
            except asyncio.CancelledError:
                connection.terminate()  # or its release waits for a server that may be silent
                raise
    except POSTGRESQL_AWAY as error:
        logger.error("PostgreSQL: %r", error)
        raise HTTPException(503) from error


async def find_article(mongodb: MongoDB, slug: str) -> dict[str, Any]:
    try:
        article = await mongodb.articles.find_one({"slug": slug})
    except MONGODB_AWAY as error:
        logger.error("MongoDB: %r", error)
        raise HTTPException(503) from error
    if article is None:
        raise HTTPException(404)
    return article


async def find_file(mongodb: MongoDB, name: str) -> AsyncGridOut:
    try:
        return await AsyncGridFSBucket(mongodb).open_download_stream_by_name(name)
    except NoFile:
        raise HTTPException(404) from None
    except MONGODB_AWAY as error:
        logger.error("MongoDB: %r", error)
        raise HTTPException(503) from error


async def read_chunks(mongodb: MongoDB, file_id: ObjectId) -> AsyncIterator[bytes]:
    # GridOut reads 16 MB at a time; https://github.com/mongodb/specifications has the collection
    chunks = mongodb["fs.chunks"].find({"files_id": file_id}, sort={"n": 1}, batch_size=4)
    async for chunk in chunks:
        yield chunk["data"]
