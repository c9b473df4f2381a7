from gevent import monkey

monkey.patch_all()

import socket
from collections.abc import Iterator

import pytest
from gridfs import GridFSBucket
from werkzeug.test import Client

from app.application import application
from app.databases import mongodb, postgresql


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    with postgresql:
        yield Client(application)


@pytest.fixture(scope="session")
def httpserver_listen_address() -> tuple[str, int]:
    return "127.0.0.1", 0


@pytest.fixture
def unused_tcp_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@pytest.fixture
def bare_file() -> Iterator[str]:
    """The name of a GridFS file of three chunks, stored without metadata."""
    bucket = GridFSBucket(mongodb, chunk_size_bytes=100_000)
    file_id = bucket.upload_from_stream("tests-bare", b"a" * 300_000)
    yield "tests-bare"
    bucket.delete(file_id)
