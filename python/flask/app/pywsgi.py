# ruff: noqa: E402
from gevent import monkey

monkey.patch_all()

import signal

import gevent
from gevent.pywsgi import WSGIServer

from app import settings
from app.main import create_app

server = WSGIServer((settings.HOST, settings.PORT), create_app())
gevent.signal_handler(signal.SIGTERM, server.stop)
gevent.signal_handler(signal.SIGINT, server.stop)
server.serve_forever()
