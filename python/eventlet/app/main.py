import eventlet

eventlet.monkey_patch()

import logging
import signal
import socket

from eventlet import wsgi

from app.application import application
from app.databases import mongodb, postgresql
from app.settings import settings


class Pool(eventlet.GreenPool):
    """At the end, requests in flight have 5 s to finish."""

    def waitall(self) -> None:
        with eventlet.Timeout(5, False):
            eventlet.GreenPool.waitall(self)


if __name__ == "__main__":
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    family = socket.AF_INET6 if ":" in settings.HOST else socket.AF_INET
    wsgi.server(
        eventlet.listen((settings.HOST, settings.PORT), family, backlog=256, reuse_port=False),
        application,
        environ={"wsgi.input_terminated": True},
        keepalive=75,
        log_output=False,
        debug=False,
        socket_timeout=75,
        custom_pool=Pool(10_000),
    )
    postgresql.clear()
    mongodb.client.close()
