from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database
from starlette.testclient import TestClient

from app.main import app
from app.settings import settings


@pytest.fixture(scope="session")
def client() -> Iterator[TestClient]:
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def database() -> Iterator[Database[dict[str, Any]]]:
    with MongoClient[dict[str, Any]](settings.MONGODB_URL) as client:
        yield client.get_default_database("refservers")
