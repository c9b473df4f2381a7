import atexit
from contextlib import AbstractContextManager
from typing import Any

import psycopg
from flask import Flask, current_app
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool
from pymongo import MongoClient
from pymongo.database import Database
from pymongo.errors import ConnectionFailure, ExecutionTimeout

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


def init_app(app: Flask) -> None:
    url, size = app.config["MONGODB_URL"], app.config["MONGODB_POOL_SIZE"]
    client = MongoClient[dict[str, Any]](
        url, maxPoolSize=size, timeoutMS=3000, serverSelectionTimeoutMS=3000, socketTimeoutMS=3000
    )
    pool = ConnectionPool(
        kwargs=OPTIONS | conninfo_to_dict(app.config["DATABASE_URL"]),
        min_size=0,
        max_size=app.config["DATABASE_POOL_SIZE"],
        timeout=3,
        check=ConnectionPool.check_connection,
        reconnect_timeout=3,
        open=True,
    )
    app.extensions |= {"pymongo": client, "psycopg_pool": pool}
    atexit.register(client.close)
    atexit.register(pool.close)


def mongodb() -> Database[dict[str, Any]]:
    client: MongoClient[dict[str, Any]] = current_app.extensions["pymongo"]
    return client.get_default_database("refservers")


def postgresql() -> AbstractContextManager[psycopg.Connection[DictRow]]:
    pool: ConnectionPool[psycopg.Connection[DictRow]] = current_app.extensions["psycopg_pool"]
    return pool.connection()
