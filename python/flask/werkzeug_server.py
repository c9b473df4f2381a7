import os
import signal
import sys
import threading

import settings
from app import create_app
from werkzeug.serving import WSGIRequestHandler, make_server


class Handler(WSGIRequestHandler):
    # what a bad request line is answered with; http.server has HTTP/0.9, a body alone
    default_request_version = "HTTP/1.1"
    protocol_version = "HTTP/1.1"
    timeout = 30  # for a client that stops in the middle

    def log_request(self, *_: object) -> None:
        pass


def main(threaded: bool) -> None:
    options = settings.from_environment()
    server = make_server(
        options["HOST"],
        options["PORT"],
        create_app(),
        threaded=threaded,
        request_handler=Handler,
    )
    server.daemon_threads = False  # it waits for them when it stops

    def stop(*_: object) -> None:
        threading.Thread(target=server.shutdown, daemon=True).start()
        end = threading.Timer(10, os._exit, (0,))
        end.daemon = True
        end.start()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    server.serve_forever()


if __name__ == "__main__":
    main(threaded="--without-threads" not in sys.argv)
