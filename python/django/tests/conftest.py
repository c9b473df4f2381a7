import socket
from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.test import Client
from gridfs import GridFSBucket

from api.databases import mongodb


@pytest.fixture(scope="session")
def django_db_setup() -> None:
    """The database as it is: no other is created for the tests."""


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


@pytest.fixture(scope="session")
def httpserver_listen_address() -> tuple[str, int]:
    return ("127.0.0.1", 0)


@pytest.fixture
def port() -> Iterator[int]:
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
