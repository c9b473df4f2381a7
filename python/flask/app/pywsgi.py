from gevent import monkey

monkey.patch_all()

import signal
import socket

import gevent
from gevent.pywsgi import WSGIServer

from app.main import create_app
from app.settings import settings

if __name__ == "__main__":
    address = settings.HOST, settings.PORT
    server = WSGIServer(address, create_app(), backlog=1024, spawn=10_000, log=None)
    for number in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(number, server.close)
    server.start()
    server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it
    server.serve_forever(stop_timeout=5)
