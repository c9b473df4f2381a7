import eventlet

eventlet.monkey_patch()

# ruff: noqa: E402
import re
import signal
import socket
from email.errors import MissingHeaderBodySeparatorDefect
from email.message import Message

import urllib3
from eventlet import wsgi
from gridfs import GridFSBucket

from app.db import ConnectionPool, mongodb
from app.semaphore import FairSemaphore
from app.settings import Settings
from app.wsgi import application

FRAMING = {
    "content-length": re.compile(r"[0-9]+\s*"),
    "transfer-encoding": re.compile(r"chunked\s*", re.IGNORECASE),
}


class Protocol(wsgi.HttpProtocol):
    """Refuses requests whose end is in doubt."""

    default_request_version = "HTTP/1.1"  # of what is no request, so that the refusal has headers

    def parse_request(self) -> bool:
        if not super().parse_request():
            return False
        if not has_one_end(self.headers):
            self.send_error(400)
            return False
        return True


def has_one_end(headers: Message) -> bool:
    """Whether there is one way to read where a request ends (RFC 9112, section 6.3)."""
    if MissingHeaderBodySeparatorDefect in map(type, headers.defects):
        return False  # a line that is no header, and headers after it that were not read
    framing = [name for name in map(str.lower, headers) if name in FRAMING]
    return len(framing) <= 1 and all(FRAMING[name].fullmatch(headers[name]) for name in framing)


def serve(settings: Settings, listener: socket.socket) -> None:
    listener = socket.socket(fileno=listener.detach())  # a green one
    signals, wakeup = socket.socketpair()
    signal.set_wakeup_fd(wakeup.fileno())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    with (
        mongodb(settings) as client,
        urllib3.PoolManager(maxsize=1000, retries=False) as upstream,
    ):
        database = client.get_default_database("refservers")
        server = eventlet.spawn(
            wsgi.server,
            listener,
            application,
            max_size=65536,
            log_output=False,
            debug=False,
            protocol=Protocol,
            environ={
                "wsgi.multiprocess": settings.workers > 1,
                "app.articles": database["articles"],
                "app.chunks": database["fs.chunks"],
                "app.files_dir": settings.files_dir,
                "app.gridfs": GridFSBucket(database),
                "app.postgresql": ConnectionPool(
                    settings.database_url, settings.database_pool_size
                ),
                "app.slow_api_url": settings.slow_api_url,
                "app.turns": FairSemaphore(settings.mongodb_pool_size),
                "app.upstream": upstream,
            },
        )
        signals.recv(1)
        server.kill(SystemExit)
        listener.close()
        with eventlet.Timeout(10, False):
            server.wait()
