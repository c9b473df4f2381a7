from typing import Any

import psycopg
import urllib3
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool
from pymongo import MongoClient
from pymongo.errors import ConnectionFailure, ExecutionTimeout

from app.settings import settings

AWAY = (ConnectionFailure, ExecutionTimeout, psycopg.OperationalError)

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
"""

OPTIONS: dict[str, Any] = {
    "autocommit": True,
    "row_factory": dict_row,
    "connect_timeout": 3,
    "tcp_user_timeout": 4000,
    "options": "-c statement_timeout=4000",
}

mongodb = MongoClient[dict[str, object]](
    settings.MONGODB_URL,
    maxPoolSize=settings.MONGODB_POOL_SIZE,
    timeoutMS=3000,
    serverSelectionTimeoutMS=3000,
    socketTimeoutMS=3000,
).get_default_database("refservers")

postgresql = ConnectionPool(
    kwargs=OPTIONS | conninfo_to_dict(settings.DATABASE_URL),
    min_size=0,
    max_size=settings.DATABASE_POOL_SIZE,
    timeout=3,
    check=ConnectionPool.check_connection,
    reconnect_timeout=3,
    open=False,
)

upstream = urllib3.PoolManager(maxsize=10_000, timeout=15)  # of connections that it keeps
