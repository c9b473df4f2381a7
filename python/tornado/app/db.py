import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from motor.motor_tornado import MotorDatabase
from pymongo.errors import ConnectionFailure
from tornado.web import HTTPError

TIMEOUT = 2.5  # seconds for an operation with all that it waits for

UNREACHABLE = (
    ConnectionFailure,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InterfaceError,
    OSError,  # TimeoutError too
)

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f
      LEFT JOIN agent_login_status s ON s.agent_id = f.id
     ORDER BY f.number
"""


@asynccontextmanager
async def database_operation() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(TIMEOUT):
            yield
    except UNREACHABLE as error:
        raise HTTPError(503, "%r", error) from error


async def find_article(mongodb: MotorDatabase, slug: str) -> dict[str, Any] | None:
    async with database_operation():
        return await mongodb.articles.find_one({"slug": slug})


async def find_agents(pool: asyncpg.Pool) -> list[dict[str, str | None]]:
    async with database_operation(), pool.acquire() as connection:
        try:
            return [dict(row) for row in await connection.fetch(AGENTS)]
        except asyncio.CancelledError:
            connection.terminate()  # or its release waits for a server that is silent
            raise
