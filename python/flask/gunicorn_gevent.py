from typing import Any

from gevent.socket import socket
from gunicorn.workers.ggevent import GeventWorker


class Worker(GeventWorker):
    """Stops at once to serve who comes: Gunicorn's own goes on for up to 1 s."""

    def handle(self, listener: socket, client: socket, addr: Any) -> None:
        if self.alive:
            super().handle(listener, client, addr)
        else:
            client.close()
