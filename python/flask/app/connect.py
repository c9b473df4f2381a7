"""The application with a SQL connection for each request, as published benchmarks had it."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import psycopg
from flask import Flask
from psycopg.conninfo import conninfo_to_dict

from app import main
from app.databases import OPTIONS


def create_app(**config: Any) -> Flask:
    app = main.create_app(**config)
    connect = partial(psycopg.connect, **OPTIONS | conninfo_to_dict(app.config["DATABASE_URL"]))
    app.extensions["psycopg_pool"] = SimpleNamespace(connection=connect)
    return app
