"""The application without the access log of Flask's own server, which is of level INFO."""

import logging

from app.main import create_app

__all__ = ["create_app"]

logging.getLogger("werkzeug").setLevel("WARNING")
