import logging
from typing import Any

from flask import Flask
from flask_orjson import OrjsonProvider

from app import databases, problems, views
from app.settings import settings


def create_app(**config: Any) -> Flask:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    app = Flask(__name__)
    app.config.from_object(settings)
    app.config.from_mapping(MAX_CONTENT_LENGTH=2**20, **config)
    app.json = OrjsonProvider(app)
    databases.init_app(app)
    app.register_error_handler(Exception, problems.answer)
    app.register_blueprint(views.bp)
    return app
