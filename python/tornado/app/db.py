import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from motor.motor_tornado import MotorCollection
from pymongo.errors import ConnectionFailure
from tornado.web import HTTPError

TIMEOUT = 2.5  # seconds for an operation with all that it waits for

MONGODB_AWAY = (ConnectionFailure, TimeoutError)
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


@asynccontextmanager
async def database_operation() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(TIMEOUT):
            yield
    except (*MONGODB_AWAY, *POSTGRESQL_AWAY) as error:
        raise HTTPError(503, "%r", error) from error


async def find_article(articles: MotorCollection, slug: str) -> dict[str, Any] | None:
    async with database_operation():
        return await articles.find_one({"slug": slug})


async def no_reset(connection: asyncpg.Connection) -> None:
    """Resets nothing, where asyncpg asks the server to: the queries here leave nothing behind."""


async def find_agents(pool: asyncpg.Pool) -> list[dict[str, str | None]]:
    async with database_operation(), pool.acquire() as connection:
        try:
            return [dict(row.items()) for row in await connection.fetch(AGENTS)]
        except asyncio.CancelledError:
            connection.terminate()  # or its release waits for a server that is silent
            raise
