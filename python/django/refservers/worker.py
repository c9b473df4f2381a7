import socket
from contextlib import suppress
from typing import Any

from gunicorn.workers.gthread import TConn, ThreadWorker


class Worker(ThreadWorker):
    """Never lets the loop that accepts wait, up to 2 s, until a client closes its side too."""

    def handle(self, conn: TConn) -> Any:
        kept = super().handle(conn)
        if not kept:
            with suppress(OSError):
                conn.sock.shutdown(socket.SHUT_RD)
        return kept
