from gevent import monkey

monkey.patch_all()

import logging
import signal
import socket

import gevent
from gevent.pool import Pool
from gevent.pywsgi import WSGIServer

from app.application import application
from app.databases import mongodb, postgresql
from app.settings import settings

if __name__ == "__main__":
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    family = socket.AF_INET6 if ":" in settings.HOST else socket.AF_INET
    listener = socket.create_server((settings.HOST, settings.PORT), family=family, backlog=256)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it
    server = WSGIServer(listener, application, spawn=Pool(), log=None)
    for number in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(number, server.stop, 5)
    with postgresql, mongodb.client:
        server.serve_forever(stop_timeout=5)
