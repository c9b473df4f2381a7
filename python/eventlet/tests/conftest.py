import eventlet

eventlet.monkey_patch()

import socket
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from eventlet import wsgi
from eventlet.greenthread import GreenThread
from gridfs import GridFSBucket
from werkzeug import Request, Response
from werkzeug.test import Client

from app.application import application
from app.databases import mongodb
from app.settings import settings

View = Callable[[Request], Response]
Upstream = Callable[[View], None]


@pytest.fixture(scope="session")
def client() -> Client:
    return Client(application)


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    """Serves a view as the upstream."""
    servers: list[GreenThread] = []

    def start(view: View) -> None:
        listener = eventlet.listen(("127.0.0.1", 0))
        site = Request.application(view)
        servers.append(eventlet.spawn(wsgi.server, listener, site, log_output=False))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        monkeypatch.setattr(settings, "SLOW_API_URL", url)

    yield start
    for server in servers:
        server.kill()


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
