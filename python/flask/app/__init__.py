import settings
from flask import Flask

from app import db, errors, files, json_provider, upstream, views


def create_app(*, pooled: bool = True) -> Flask:
    app = Flask(__name__, static_folder=None)
    app.config.from_mapping(settings.from_environment(), PROVIDE_AUTOMATIC_OPTIONS=False)
    app.json = json_provider.OrjsonProvider(app)
    app.url_map.merge_slashes = False
    app.url_map.converters["name"] = files.NameConverter
    db.init_app(app, pooled)
    errors.init_app(app)
    upstream.init_app(app)
    app.register_blueprint(files.bp)
    app.register_blueprint(views.bp)
    return app
