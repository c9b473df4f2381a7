"""Small servers in the process of a test."""

import http.server
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from harness.system.ports import http_url


class Quiet(http.server.BaseHTTPRequestHandler):
    """Logs nothing, and keeps connections open."""

    protocol_version = "HTTP/1.1"

    def respond(
        self, status: int, body: bytes = b"", media_type: str = "text/plain; charset=utf-8"
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(
    handler: type[http.server.BaseHTTPRequestHandler], host: str = "127.0.0.1"
) -> Iterator[str]:
    """Run one of Python's own HTTP servers with a handler."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    kind = http.server.ThreadingHTTPServer
    own = type("Server", (kind,), {"address_family": family, "request_queue_size": 1024})
    server = own((host, 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield http_url(host, server.server_port)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
