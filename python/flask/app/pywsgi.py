from gevent import monkey

monkey.patch_all()

import signal
import socket

import gevent
from gevent.pywsgi import WSGIServer

from app.main import create_app
from app.settings import settings

if __name__ == "__main__":
    listener = socket.create_server((settings.HOST, settings.PORT), backlog=1024)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it
    server = WSGIServer(listener, create_app(), spawn=10_000, log=None)
    for number in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(number, server.close)
    server.serve_forever(stop_timeout=5)
