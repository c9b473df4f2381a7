import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any
from unittest.mock import Mock

import asyncpg
import pytest
from anyio import move_on_after
from bson import ObjectId
from fastapi.testclient import TestClient
from gridfs import AsyncGridOut, GridFSBucket
from httpx2 import Response as ClientResponse
from pymongo import AsyncMongoClient
from pymongo.database import Database
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from app import databases, views
from app.main import app
from app.settings import settings

MongoDB = Database[dict[str, Any]]
Overrides = dict[Any, Any]


def assert_problem(response: ClientResponse, status: int, title: str) -> None:
    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/problem+json"
    problem = response.json()
    detail = problem.pop("detail", "") if status in (400, 422) else ""
    assert isinstance(detail, str)
    assert list(problem.items()) == [("type", "about:blank"), ("title", title), ("status", status)]


def test_index(client: TestClient) -> None:
    response = client.get("/index")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.text == "Hello, World!"


def test_json(client: TestClient) -> None:
    response = client.get("/json")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    assert response.text == '{"message":"Hello, World!"}'


def test_mongo(client: TestClient) -> None:
    response = client.get("/mongo", params={"doc": "big"})
    assert response.status_code == 200
    article = response.json()
    assert list(article)[:2] == ["_id", "slug"]
    assert article["slug"] == "big"
    assert len(article["_id"]) == 24
    assert len(article["people"]) == 6


def body() -> Iterator[bytes]:
    yield b'{"title":"\\ud83d\\ude00'
    yield 'é","text":""}'.encode()


def test_note(client: TestClient, database: MongoDB) -> None:
    headers = {"Content-Type": "application/json"}
    response = client.post("/notes", content=body(), headers=headers)  # chunked
    assert response.status_code == 201
    note_id = response.headers["Location"].removeprefix("/notes/")
    assert database.notes.find_one_and_delete({"_id": ObjectId(note_id)}) == {
        "_id": ObjectId(note_id),
        "title": "😀é",
        "text": "",
    }
    assert response.text == f'{{"_id":"{note_id}","title":"😀é","text":""}}'


def test_read_note(client: TestClient, database: MongoDB) -> None:
    created = client.post("/notes", json={"title": "a" * 200, "text": "é" * 10_000})
    response = client.get(created.headers["Location"])
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    assert response.content == created.content
    database.notes.delete_one({"_id": ObjectId(response.json()["_id"])})


@pytest.mark.parametrize("note_id", ["0" * 24, "unknown"])
def test_unknown_note(client: TestClient, note_id: str) -> None:
    assert_problem(client.get(f"/notes/{note_id}"), 404, "Not Found")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"title":"a"}',
        '{"title":"","text":""}',
        '{"title":1,"text":""}',
        '{"title":"a","text":null}',
        '{"title":"\\ud800","text":""}',
        json.dumps({"title": "a" * 201, "text": ""}),
        json.dumps({"title": "a", "text": "a" * 10_001}),
    ],
)
def test_refused_note(client: TestClient, database: MongoDB, text: str) -> None:
    notes = database.notes.count_documents({})
    response = client.post("/notes", content=text, headers={"Content-Type": "application/json"})
    assert_problem(response, 422, response.json()["title"])
    assert database.notes.count_documents({}) == notes


@pytest.mark.parametrize("text", [b"\xff", b"[" * 100_000])
def test_body_that_cannot_be_read(client: TestClient, text: bytes) -> None:
    response = client.post("/notes", content=text, headers={"Content-Type": "application/json"})
    assert_problem(response, 400, "Bad Request")


def test_too_large_note(client: TestClient) -> None:
    for content in (b"a" * (2**20 + 1), iter([b"a" * 2**20, b"a"])):
        assert client.post("/notes", content=content).status_code == 413


def test_agents(client: TestClient) -> None:
    response = client.get("/agents")
    assert response.status_code == 200
    agents = response.json()
    assert len(agents) == 50
    assert agents == sorted(agents, key=lambda agent: agent["number"])
    assert agents[0]["status"] == "offline"


def test_file(client: TestClient) -> None:
    response = client.get("/files/photo.jpg")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "image/jpeg"
    assert response.content == (settings.FILES_DIR / "photo.jpg").read_bytes()


@pytest.mark.parametrize("name", ["missing.jpg", ".", "..%2Fagents.sql", "%2Fetc%2Fpasswd", "%00"])
def test_missing_file(client: TestClient, name: str) -> None:
    assert_problem(client.get(f"/files/{name}"), 404, "Not Found")


def test_gridfs(client: TestClient, database: MongoDB) -> None:
    response = client.get("/gridfs/photo.jpg")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "image/jpeg"
    assert response.headers["Content-Length"] == str(len(response.content))
    with GridFSBucket(database).open_download_stream_by_name("photo.jpg") as stored:
        assert response.content == stored.read()


def test_gridfs_without_metadata(client: TestClient, bare_file: str) -> None:
    response = client.get(f"/gridfs/{bare_file}")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/octet-stream"
    assert response.content == b"a" * 300_000


def test_gridfs_file_is_closed_when_the_client_leaves(
    overrides: Overrides, monkeypatch: pytest.MonkeyPatch, bare_file: str
) -> None:
    sent: list[Any] = []
    closed: list[AsyncGridOut] = []
    close = AsyncGridOut.close

    async def closes(file: AsyncGridOut) -> None:
        await close(file)
        closed.append(file)

    async def connected() -> AsyncIterator[Any]:
        async with AsyncMongoClient[Any](settings.MONGODB_URL) as mongodb:
            yield mongodb.get_default_database("refservers")

    async def receive() -> dict[str, Any]:
        while len(sent) < 2:
            await asyncio.sleep(0.01)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)
        await asyncio.sleep(1 if len(sent) > 1 else 0)  # for receive

    monkeypatch.setattr(AsyncGridOut, "close", closes)
    overrides[databases.get_mongodb] = connected
    path = f"/gridfs/{bare_file}"
    scope = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": b""}
    asyncio.run(app(scope, receive, send))
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert len(closed) == 1


def test_the_drivers_call_outlives_the_stream() -> None:
    finished = asyncio.Event()

    async def readchunk() -> bytes:
        await asyncio.sleep(0.05)
        finished.set()
        return b""

    async def leave() -> None:
        with move_on_after(0.01):
            await anext(views.gridfs(Mock(readchunk=readchunk)), None)

    asyncio.run(leave())
    assert finished.is_set()


def test_missing_gridfs(client: TestClient) -> None:
    assert_problem(client.get("/gridfs/missing.jpg"), 404, "Not Found")


def test_sleep(client: TestClient) -> None:
    start = time.monotonic()
    response = client.get("/sleep", params={"ms": "50"})
    assert time.monotonic() - start >= 0.05
    assert response.status_code == 200
    assert response.json() == {"slept_ms": 50}


@pytest.mark.parametrize(
    "target", ["/sleep?ms=soon", "/sleep?ms=30001", "/slow_api?calls=51", "/mongo?doc=medium"]
)
def test_bad_parameter(client: TestClient, target: str) -> None:
    response = client.get(target)
    assert_problem(response, 400, "Bad Request")
    assert response.json()["detail"].startswith(("ms: ", "calls: ", "doc: "))


def test_unknown_path(client: TestClient) -> None:
    assert_problem(client.get("/unknown"), 404, "Not Found")


def test_method(client: TestClient) -> None:
    response = client.post("/json")
    assert_problem(response, 405, "Method Not Allowed")
    assert "GET" in response.headers["Allow"]


@pytest.fixture
def upstream(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> HTTPServer:
    monkeypatch.setattr(settings, "SLOW_API_URL", httpserver.url_for("/"))
    return httpserver


def test_slow_api(client: TestClient, upstream: HTTPServer) -> None:
    def answer(request: Request) -> Response:
        name = request.headers["X-Request-Id"]
        body = {"call": int(request.args["call"]), "name": name}
        return Response(json.dumps(body), content_type="application/json")

    upstream.expect_request("/").respond_with_handler(answer)
    response = client.get("/slow_api?calls=2&ms=10", headers={"X-Request-Id": "a"})
    assert response.status_code == 200
    assert response.json() == {"results": [{"call": 0, "name": "a"}, {"call": 1, "name": "a"}]}


@pytest.mark.parametrize(
    "answer",
    [
        Response("{}", 404, content_type="application/json"),
        Response("[]", content_type="application/json"),
        Response("{", content_type="application/json"),
        Response(b"\xff", content_type="application/json"),
        Response("text"),
        Response(status=302, headers={"Location": "/elsewhere"}),
    ],
    ids=["404", "array", "cut", "latin-1", "text", "redirect"],
)
def test_slow_api_fails(
    client: TestClient, upstream: HTTPServer, caplog: pytest.LogCaptureFixture, answer: Response
) -> None:
    upstream.expect_request("/").respond_with_response(answer)
    upstream.expect_request("/elsewhere").respond_with_json({})
    assert_problem(client.get("/slow_api?calls=5&ms=10"), 502, "Bad Gateway")
    [record] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert record.getMessage().startswith("'/slow_api': ")


def test_slow_api_has_a_mistake(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(settings, "SLOW_API_URL")
    assert_problem(client.get("/slow_api?calls=2"), 500, "Internal Server Error")


def test_mistake(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "AGENTS", "SELECT * FROM unknown")
    assert_problem(client.get("/agents"), 500, "Internal Server Error")


def test_missing_file_of_our_own(client: TestClient, overrides: Overrides) -> None:
    overrides[databases.get_postgresql] = lambda: open("/missing")
    assert_problem(client.get("/agents"), 500, "Internal Server Error")


def test_mongodb_is_away(
    client: TestClient, overrides: Overrides, caplog: pytest.LogCaptureFixture
) -> None:
    async def away() -> AsyncIterator[Any]:
        async with AsyncMongoClient[Any]("mongodb://127.0.0.1:1", timeoutMS=300) as mongodb:
            yield mongodb.test

    overrides[databases.get_mongodb] = away
    for target in ("/mongo", f"/notes/{ObjectId()}", "/gridfs/a%0Ab"):
        assert_problem(client.get(target), 503, "Service Unavailable")
    messages = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(messages) == 3
    assert not any("\n" in message for message in messages)  # though a path has one


def test_postgresql_is_away(client: TestClient, overrides: Overrides) -> None:
    async def away() -> AsyncIterator[Any]:
        async with asyncpg.create_pool("postgresql://127.0.0.1:1/test", min_size=0) as pool:
            yield pool

    overrides[databases.get_postgresql] = away
    assert_problem(client.get("/agents"), 503, "Service Unavailable")
