import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client


@pytest.fixture(autouse=True)
def databases(django_db_blocker):
    """The databases as they are: no test database is created."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def client():
    return Client(raise_request_exception=False)


class Upstream(BaseHTTPRequestHandler):
    """Answers with the number of the call, and fails from number 3 on."""

    def do_GET(self):
        call = int(parse_qs(urlsplit(self.path).query)["call"][0])
        body = json.dumps({"call": call, "id": self.headers["X-Request-Id"]}).encode()
        self.send_response(200 if call < 3 else 500)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def upstream(settings):
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        Thread(target=server.serve_forever).start()
        settings.SLOW_API_URL = f"http://127.0.0.1:{server.server_port}/"
        yield
        server.shutdown()
