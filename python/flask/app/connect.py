"""The application with a SQL connection for each request, as published benchmarks had it."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import psycopg
from flask import Flask
from psycopg.rows import dict_row

from app import main
from app.databases import TIMEOUTS


def create_app(**config: Any) -> Flask:
    app = main.create_app(**config)
    url = app.config["DATABASE_URL"]
    connect = partial(psycopg.connect, url, autocommit=True, row_factory=dict_row, **TIMEOUTS)
    app.extensions["psycopg_pool"] = SimpleNamespace(connection=connect)
    return app
