import asyncio
from typing import Any
from unittest.mock import Mock

import pytest
from anyio import move_on_after
from bson import ObjectId
from pymongo.database import Database
from starlette.testclient import TestClient

from app.settings import settings
from app.views import chunks


def test_index(client: TestClient) -> None:
    response = client.get("/index")
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.text == "Hello, World!"


def test_json(client: TestClient) -> None:
    assert client.get("/json").text == '{"message":"Hello, World!"}'


def test_a_document(client: TestClient) -> None:
    article = client.get("/mongo?doc=big").json()
    assert article["slug"] == "big"
    assert len(bytes.fromhex(article["_id"])) == 12


def test_a_note(client: TestClient, database: Database[dict[str, Any]]) -> None:
    created = client.post("/notes", json={"title": "café", "text": ""})
    assert created.status_code == 201
    assert client.get(created.headers["Location"]).content == created.content
    note_id = ObjectId(created.json()["_id"])
    assert database.notes.find_one_and_delete({"_id": note_id}) == {
        "_id": note_id,
        "title": "café",
        "text": "",
    }


@pytest.mark.parametrize("body", ["", "{", "[]", '{"title":""}', '{"title":1,"text":""}'])
def test_no_note(client: TestClient, database: Database[dict[str, Any]], body: str) -> None:
    notes = database.notes.count_documents({})
    response = client.post("/notes", content=body)
    assert response.status_code == 400
    assert response.json()["errors"]
    assert database.notes.count_documents({}) == notes


def test_agents(client: TestClient) -> None:
    agents = client.get("/agents").json()
    assert len(agents) == 50
    assert agents == sorted(agents, key=lambda agent: agent["number"])


@pytest.mark.parametrize("path", ["/files/photo.jpg", "/gridfs/photo.jpg"])
def test_a_file(client: TestClient, path: str) -> None:
    response = client.get(path)
    assert response.headers["Content-Type"] == "image/jpeg"
    assert response.content == (settings.FILES_DIR / "photo.jpg").read_bytes()


def test_the_drivers_call_outlives_the_stream() -> None:
    finished = asyncio.Event()

    async def readchunk() -> bytes:
        await asyncio.sleep(0.05)
        finished.set()
        return b""

    async def leave() -> None:
        stream = chunks(Mock(readchunk=readchunk), b"first")
        assert await anext(stream) == b"first"
        with move_on_after(0.01):
            await anext(stream, None)

    asyncio.run(leave())
    assert finished.is_set()


def test_a_client_that_leaves_ends_the_stream() -> None:
    async def leave() -> None:
        with move_on_after(0.01):
            async for _ in chunks(Mock(readchunk=lambda: asyncio.sleep(0, b"next")), b"first"):
                pass

    asyncio.run(asyncio.wait_for(leave(), 5))


@pytest.mark.parametrize(
    ("target", "status"),
    [("/nothing", 404), ("/notes/nothing", 404), ("/gridfs/nothing", 404), ("/sleep?ms=soon", 400)],
)
def test_a_problem(client: TestClient, target: str, status: int) -> None:
    response = client.get(target)
    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.json()["status"] == status
