import psycopg
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool
from pymongo import MongoClient
from pymongo.errors import ConnectionFailure

from app import settings

AWAY = (ConnectionFailure, psycopg.OperationalError)

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
"""

mongodb = MongoClient(
    settings.MONGODB_URL, maxPoolSize=settings.MONGODB_POOL_SIZE, serverSelectionTimeoutMS=3000
).get_default_database("refservers")

postgresql = ConnectionPool(
    settings.DATABASE_URL,
    kwargs={"autocommit": True, "row_factory": dict_row},
    min_size=0,
    max_size=settings.DATABASE_POOL_SIZE,
    timeout=3,
    reconnect_timeout=3,
    open=True,
)
