import asyncpg
from motor.motor_tornado import MotorClient
from pymongo.errors import ConnectionFailure

from app import settings

# asyncpg raises the socket's own OSError when it cannot connect.
AWAY = (ConnectionFailure, asyncpg.PostgresConnectionError, asyncpg.CannotConnectNowError, OSError)

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
"""


async def connect() -> dict:
    client = MotorClient(
        settings.MONGODB_URL, maxPoolSize=settings.MONGODB_POOL_SIZE, serverSelectionTimeoutMS=3000
    )
    size = settings.DATABASE_POOL_SIZE
    pool = await asyncpg.create_pool(settings.DATABASE_URL, min_size=0, max_size=size)
    return {"mongodb": client.get_default_database("refservers"), "postgresql": pool}
