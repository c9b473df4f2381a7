# ruff: noqa: E402
import eventlet
from eventlet.support.psycopg2_patcher import make_psycopg_green

eventlet.monkey_patch()
make_psycopg_green()

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest
from app import settings
from app.application import application
from werkzeug.test import Client


@pytest.fixture(scope="session")
def client() -> Client:
    return Client(application)


class Upstream(BaseHTTPRequestHandler):
    """Answers with the number of the call, and fails from number 3 on."""

    def do_GET(self) -> None:
        call = int(parse_qs(urlsplit(self.path).query)["call"][0])
        body = json.dumps({"call": call, "id": self.headers["X-Request-Id"]}).encode()
        self.send_response(200 if call < 3 else 500)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        Thread(target=server.serve_forever).start()
        monkeypatch.setattr(settings, "SLOW_API_URL", f"http://127.0.0.1:{server.server_port}/")
        yield
        server.shutdown()
