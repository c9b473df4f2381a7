from gevent import monkey

monkey.patch_all()

import logging
import signal
import socket

import gevent
from gevent.pywsgi import WSGIServer

from app.application import application
from app.databases import mongodb, postgresql
from app.settings import settings

if __name__ == "__main__":
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    address = settings.HOST, settings.PORT
    server = WSGIServer(address, application, backlog=256, spawn=10_000, log=None)
    for number in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(number, server.close)
    with postgresql, mongodb.client:
        server.start()
        server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections, too
        server.serve_forever(stop_timeout=5)
