from gevent import monkey

monkey.patch_all()

import socket
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from gevent.pywsgi import WSGIServer
from gridfs import GridFSBucket
from werkzeug import Request, Response
from werkzeug.test import Client

from app.application import application
from app.databases import mongodb, postgresql
from app.settings import settings

View = Callable[[Request], Response]
Upstream = Callable[[View], None]


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    with postgresql:
        yield Client(application)


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    """Serves a view as the upstream."""
    servers: list[WSGIServer] = []

    def start(view: View) -> None:
        server = WSGIServer(("127.0.0.1", 0), Request.application(view), log=None)
        server.start()
        servers.append(server)
        url = f"http://127.0.0.1:{server.server_port}/"
        monkeypatch.setattr(settings, "SLOW_API_URL", url)

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def unused_tcp_port() -> Iterator[int]:
    """Bound during a test, so that no other program gets it; a server may listen there."""
    with socket.socket() as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def bare_file() -> Iterator[str]:
    """The name of a GridFS file of three chunks, stored without metadata."""
    bucket = GridFSBucket(mongodb, chunk_size_bytes=100_000)
    name = f"tests-{uuid4()}"
    file_id = bucket.upload_from_stream(name, b"a" * 300_000)
    yield name
    bucket.delete(file_id)
