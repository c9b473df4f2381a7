from contextlib import asynccontextmanager

import asyncpg
import httpx2
from fastapi import FastAPI
from pymongo import AsyncMongoClient

from app.settings import settings

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
"""


@asynccontextmanager
async def lifespan(app: FastAPI):
    mongodb = AsyncMongoClient(
        str(settings.mongodb_url),
        maxPoolSize=settings.mongodb_pool_size,
        serverSelectionTimeoutMS=3000,
    )
    size = settings.database_pool_size
    postgresql = asyncpg.create_pool(str(settings.database_url), min_size=0, max_size=size)
    # /slow_api makes all its calls at once and has a deadline of its own, which is shorter.
    upstream = httpx2.AsyncClient(limits=httpx2.Limits(max_connections=None), timeout=15)
    async with mongodb, postgresql, upstream:
        database = mongodb.get_default_database("refservers")
        yield {"mongodb": database, "postgresql": postgresql, "upstream": upstream}
