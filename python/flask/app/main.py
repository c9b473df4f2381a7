from typing import Any

import httpx2
from flask import Flask
from flask_orjson import OrjsonProvider

from app import databases, problems, settings, views


def create_app(**config: Any) -> Flask:
    app = Flask(__name__)
    app.config.from_object(settings)
    app.config.from_mapping({"SQL_POOL": True} | config)
    app.json = OrjsonProvider(app)
    app.extensions["upstream"] = httpx2.Client(limits=httpx2.Limits(max_connections=None))
    databases.init_app(app)
    problems.init_app(app)
    app.register_blueprint(views.bp)
    return app
