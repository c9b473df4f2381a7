from gevent import monkey

monkey.patch_all()

# ruff: noqa: E402
import re
import signal
import socket
from email.errors import MissingHeaderBodySeparatorDefect
from email.message import Message
from typing import Any, ClassVar

import gevent
import urllib3
from gevent.pool import Pool
from gevent.pywsgi import WSGIHandler, WSGIServer
from gridfs import GridFSBucket

from app.db import mongodb, postgresql
from app.semaphore import FairSemaphore
from app.settings import Settings
from app.wsgi import application

FRAMING = {
    "content-length": re.compile(r"[0-9]+\s*"),
    "transfer-encoding": re.compile(r"chunked\s*", re.IGNORECASE),
}


class Handler(WSGIHandler):
    """Refuses requests whose end is in doubt, says when it closes, and does not wait to stop."""

    waiting: ClassVar[set[gevent.Greenlet]] = set()

    def read_requestline(self) -> str:
        if self.server.closed:
            return ""
        self.waiting.add(gevent.getcurrent())
        try:
            return super().read_requestline()
        finally:
            self.waiting.remove(gevent.getcurrent())

    def MessageClass(self, *args: Any) -> Message:
        headers = super().MessageClass(*args)
        if not has_one_end(headers):
            raise ValueError("the end of the request is in doubt")
        return headers

    def start_response(self, status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
        if self.close_connection or self.server.closed:
            headers = [*headers, ("Connection", "close")]
        return super().start_response(status, headers, *exc_info)

    def log_request(self) -> None:
        """Writes nothing, and with `log=None` alone would first format what it does not write."""


def has_one_end(headers: Message) -> bool:
    """Whether there is one way to read where a request ends (RFC 9112, section 6.3)."""
    if MissingHeaderBodySeparatorDefect in map(type, headers.defects):
        return False  # a line that is no header, and headers after it that were not read
    framing = [name for name in map(str.lower, headers) if name in FRAMING]
    return len(framing) <= 1 and all(FRAMING[name].fullmatch(headers[name]) for name in framing)


def serve(settings: Settings, listener: socket.socket) -> None:
    listener.setblocking(False)
    with (
        mongodb(settings) as client,
        postgresql(settings) as pool,
        urllib3.PoolManager(maxsize=1000, retries=False) as upstream,
    ):
        database = client.get_default_database("refservers")
        server = WSGIServer(
            listener,
            application,
            spawn=Pool(),
            log=None,
            handler_class=Handler,
            environ={
                "wsgi.multiprocess": settings.workers > 1,
                "app.articles": database["articles"],
                "app.chunks": database["fs.chunks"],
                "app.files_dir": settings.files_dir,
                "app.gridfs": GridFSBucket(database),
                "app.postgresql": pool,
                "app.slow_api_url": settings.slow_api_url,
                "app.turns": FairSemaphore(settings.mongodb_pool_size),
                "app.upstream": upstream,
            },
        )

        def stop() -> None:
            server.close()
            gevent.killall(Handler.waiting, block=False)

        for number in (signal.SIGINT, signal.SIGTERM):
            gevent.signal_handler(number, stop)
        server.serve_forever(stop_timeout=10)
