from functools import partial

import psycopg
from flask import Flask
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool
from pymongo import MongoClient
from pymongo.errors import ConnectionFailure

AWAY = (ConnectionFailure, psycopg.OperationalError)

AGENTS = """
    SELECT f.number, s.extension, s.context, s.state_interface,
           'offline' AS status, '-1' AS extension_status, '0' AS paused
      FROM agentfeatures f LEFT JOIN agent_login_status s ON s.agent_id = f.id ORDER BY f.number
"""


def init_app(app: Flask) -> None:
    client = MongoClient(
        app.config["MONGODB_URL"],
        maxPoolSize=app.config["MONGODB_POOL_SIZE"],
        serverSelectionTimeoutMS=3000,
    )
    app.extensions["mongodb"] = client.get_default_database("refservers")

    url, options = app.config["DATABASE_URL"], {"autocommit": True, "row_factory": dict_row}
    if app.config["SQL_POOL"]:
        pool = ConnectionPool(
            url,
            kwargs=options,
            min_size=0,
            max_size=app.config["DATABASE_POOL_SIZE"],
            timeout=3,
            reconnect_timeout=3,
            open=True,
        )
        app.extensions["postgresql"] = pool.connection
    else:
        app.extensions["postgresql"] = partial(psycopg.connect, url, **options)
