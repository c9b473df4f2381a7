import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from aiohttp import web
from aiohttp.pytest_plugin import AiohttpClient
from aiohttp.test_utils import TestClient
from gridfs import GridFSBucket
from pymongo import MongoClient
from pymongo.database import Database

from app.main import init_app
from app.settings import settings


@pytest.fixture
async def client(aiohttp_client: AiohttpClient) -> TestClient[web.Request, web.Application]:
    return await aiohttp_client(await init_app())


@pytest.fixture
def unused_tcp_port() -> Iterator[int]:
    """Bound during a test, so that no other program gets it; a server may listen there."""
    with socket.socket() as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def database() -> Iterator[Database[dict[str, Any]]]:
    with MongoClient[dict[str, Any]](settings.MONGODB_URL) as client:
        yield client.get_default_database("refservers")


@pytest.fixture
def bare_file(database: Database[dict[str, Any]]) -> Iterator[str]:
    """The name of a GridFS file of three chunks, stored without metadata."""
    bucket = GridFSBucket(database, chunk_size_bytes=100_000)
    name = f"tests/{uuid4()}"
    file_id = bucket.upload_from_stream(name, b"a" * 300_000)
    yield quote(name, safe="")
    bucket.delete(file_id)
