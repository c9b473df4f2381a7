# ruff: noqa: E402
import eventlet
from eventlet.support.psycopg2_patcher import make_psycopg_green

eventlet.monkey_patch()
make_psycopg_green()

from eventlet import wsgi

from app import settings
from app.application import application

wsgi.server(eventlet.listen((settings.HOST, settings.PORT)), application)
