from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any

import asyncpg
from motor.motor_tornado import MotorClient
from pymongo.errors import ConnectionFailure, ExecutionTimeout
from tornado.curl_httpclient import CurlAsyncHTTPClient

from app.settings import settings

UNAVAILABLE = (asyncpg.OperatorInterventionError, asyncpg.TooManyConnectionsError)
AWAY = (ConnectionFailure, ExecutionTimeout, asyncpg.PostgresConnectionError, *UNAVAILABLE)

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
"""


@asynccontextmanager
async def connect() -> AsyncIterator[dict[str, Any]]:
    """What handlers find in the application's settings."""
    url, size = settings.MONGODB_URL, settings.MONGODB_POOL_SIZE
    client: MotorClient[dict[str, Any]] = MotorClient(
        url, maxPoolSize=size, timeoutMS=3000, serverSelectionTimeoutMS=3000, socketTimeoutMS=3000
    )
    mongodb = client.get_default_database("refservers")
    upstream = CurlAsyncHTTPClient(force_instance=True, max_clients=2000)
    url, size = settings.DATABASE_URL, settings.DATABASE_POOL_SIZE
    with closing(client), closing(upstream):
        async with asyncpg.create_pool(url, min_size=0, max_size=size, command_timeout=3) as pool:
            yield {"mongodb": mongodb, "postgresql": pool, "upstream": upstream}


async def fetch(pool: asyncpg.Pool, query: str) -> list[dict[str, object]]:
    try:
        async with pool.acquire(timeout=3) as connection:
            return [dict(row) for row in await connection.fetch(query)]
    # asyncpg lets errors of the socket through, and its own of a connection that has just ended.
    except (OSError, asyncpg.exceptions.InternalClientError) as error:
        raise asyncpg.PostgresConnectionError(repr(error)) from error
