from gevent import monkey

monkey.patch_all()

# ruff: noqa: E402
import multiprocessing
import re
import signal
import socket
import sys
from typing import Any, ClassVar

import gevent
import settings
from app import create_app
from gevent.pool import Pool
from gevent.pywsgi import WSGIHandler, WSGIServer

DIGITS = re.compile(r"[0-9]+")


class Handler(WSGIHandler):
    """Refuses bodies of no certain length, says when it closes, and does when the server stops."""

    idle: ClassVar[set[socket.socket]] = set()

    def read_requestline(self) -> str:
        if self.server.closed:
            return ""
        self.idle.add(self.socket)
        try:
            return super().read_requestline()
        finally:
            self.idle.discard(self.socket)

    def MessageClass(self, *args: Any) -> Any:
        headers = super().MessageClass(*args)
        lengths = headers.get_all("Content-Length", [])
        codings = headers.get_all("Transfer-Encoding", [])
        chunked = [coding.lower() for coding in codings] == ["chunked"]
        counted = len(lengths) == 1 and DIGITS.fullmatch(lengths[0])
        if (codings or lengths) and not ((chunked and not lengths) or (counted and not codings)):
            raise ValueError("a body of no certain length")
        return headers

    def finalize_headers(self) -> None:
        super().finalize_headers()
        if self.close_connection and self.request_version == "HTTP/1.1":
            self.response_headers.append((b"Connection", b"close"))


def serve(listener: socket.socket) -> None:
    server = WSGIServer(listener, create_app(), spawn=Pool(), log=None, handler_class=Handler)

    def stop() -> None:
        server.close()
        for connection in Handler.idle:
            connection.shutdown(socket.SHUT_RD)
        server.stop(timeout=10)

    on_stop(stop)
    server.serve_forever(stop_timeout=10)


def on_stop(handler: Any) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        gevent.signal_handler(number, handler)


def main() -> None:
    options = settings.from_environment()
    try:
        listener = socket.create_server((options["HOST"], options["PORT"]), backlog=1024)
    except OSError as error:
        print(f"bad setting: HOST or PORT: {error}", file=sys.stderr)
        sys.exit(2)
    # pywsgi writes headers and body apart; its connections take this from the listener
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if options["WORKERS"] == 1:
        return serve(listener)
    workers = [
        multiprocessing.Process(target=serve, args=(listener,)) for _ in range(options["WORKERS"])
    ]
    for worker in workers:
        worker.start()
    on_stop(lambda: [worker.terminate() for worker in workers])
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
