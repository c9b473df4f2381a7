import psycopg2
from eventlet import db_pool
from psycopg2.extras import RealDictCursor
from pymongo import MongoClient
from pymongo.errors import ConnectionFailure

from app import settings

AWAY = (ConnectionFailure, psycopg2.OperationalError, psycopg2.InterfaceError)

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
"""

mongodb = MongoClient(
    settings.MONGODB_URL, maxPoolSize=settings.MONGODB_POOL_SIZE, serverSelectionTimeoutMS=3000
).get_default_database("refservers")

postgresql = db_pool.ConnectionPool(
    psycopg2,
    max_size=settings.DATABASE_POOL_SIZE,
    connect_timeout=3,
    dsn=settings.DATABASE_URL,
    cursor_factory=RealDictCursor,
)
