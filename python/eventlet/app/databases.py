import psycopg2
import urllib3
from eventlet import db_pool
from psycopg2.extensions import parse_dsn
from psycopg2.extras import RealDictCursor
from pymongo import MongoClient
from pymongo.errors import ConnectionFailure, ExecutionTimeout

from app.settings import settings

AWAY = (ConnectionFailure, ExecutionTimeout, db_pool.ConnectTimeout, psycopg2.OperationalError)

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
"""

mongodb = MongoClient[dict[str, object]](
    settings.MONGODB_URL,
    maxPoolSize=settings.MONGODB_POOL_SIZE,
    timeoutMS=3000,
    serverSelectionTimeoutMS=3000,
    socketTimeoutMS=3000,
).get_default_database("refservers")

postgresql = db_pool.RawConnectionPool(
    psycopg2,
    max_size=settings.DATABASE_POOL_SIZE,
    connect_timeout=3,
    dsn=settings.DATABASE_URL,
    tcp_user_timeout=4000,
    options=parse_dsn(settings.DATABASE_URL).get("options", "-c statement_timeout=4000"),
    cursor_factory=RealDictCursor,
)

upstream = urllib3.PoolManager(maxsize=10_000, timeout=15)  # of connections that it keeps
