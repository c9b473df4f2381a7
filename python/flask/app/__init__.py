from flask import Flask

from app import db, errors, files, json_provider, settings, upstream, views


def create_app(*, pooled: bool = True) -> Flask:
    app = Flask(__name__, static_folder=None)
    app.config.from_mapping(settings.from_environment(), PROVIDE_AUTOMATIC_OPTIONS=False)
    app.json = json_provider.OrjsonProvider(app)
    app.url_map.merge_slashes = False
    app.url_map.converters["name"] = files.NameConverter
    for part in (errors, upstream):
        part.init_app(app)
    db.init_app(app, pooled)
    for part in (files, views):
        app.register_blueprint(part.bp)
    return app
