import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest
from app.main import app
from app.settings import settings
from fastapi.testclient import TestClient


@pytest.fixture(scope="session")
def client() -> Iterator[TestClient]:
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


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
        monkeypatch.setattr(settings, "slow_api_url", f"http://127.0.0.1:{server.server_port}/")
        yield
        server.shutdown()
