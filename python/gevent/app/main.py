# ruff: noqa: E402
from gevent import monkey

monkey.patch_all()

import signal

import gevent
from gevent.pywsgi import WSGIServer

from app import settings
from app.application import application

server = WSGIServer((settings.HOST, settings.PORT), application)
gevent.signal_handler(signal.SIGTERM, server.stop)
gevent.signal_handler(signal.SIGINT, server.stop)
server.serve_forever()
