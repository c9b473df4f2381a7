import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientResponse, web
from aiohttp.pytest_plugin import AiohttpClient, AiohttpServer
from aiohttp.test_utils import TestClient
from bson import ObjectId
from gridfs import AsyncGridFSBucket, GridFSBucket
from pymongo.database import Database

from app import views
from app.databases import MONGODB
from app.main import init_app
from app.settings import settings

Client = TestClient[web.Request, web.Application]
MongoDB = Database[dict[str, Any]]


async def assert_problem(response: ClientResponse, status: int, title: str) -> None:
    assert response.status == status
    assert response.content_type == "application/problem+json"
    problem = json.loads(await response.text())
    errors = problem.pop("errors", []) if status == 400 else []
    assert list(problem.items()) == [("type", "about:blank"), ("title", title), ("status", status)]
    assert all({"type", "loc", "msg"} <= error.keys() for error in errors)


async def test_index(client: Client) -> None:
    response = await client.get("/index")
    assert response.status == 200
    assert response.content_type == "text/plain"
    assert await response.text() == "Hello, World!"


async def test_json(client: Client) -> None:
    response = await client.get("/json")
    assert response.status == 200
    assert response.content_type == "application/json"
    assert await response.text() == '{"message":"Hello, World!"}'


async def test_mongo(client: Client) -> None:
    response = await client.get("/mongo", params={"doc": "big"})
    assert response.status == 200
    article = await response.json()
    assert article["slug"] == "big"
    assert len(article["_id"]) == 24


async def body() -> AsyncIterator[bytes]:
    yield b'{"title":"\\ud83d\\ude00'
    yield 'é","text":""}'.encode()


async def test_note(client: Client, database: MongoDB) -> None:
    response = await client.post("/notes", data=body())  # chunked
    assert response.status == 201
    location = response.headers["Location"]
    note_id = location.removeprefix("/notes/")
    assert database.notes.find_one_and_delete({"_id": ObjectId(note_id)}) == {
        "_id": ObjectId(note_id),
        "title": "😀é",
        "text": "",
    }
    assert await response.text() == f'{{"_id":"{note_id}","title":"😀é","text":""}}'


async def test_read_note(client: Client, database: MongoDB) -> None:
    created = await client.post("/notes", json={"title": "a" * 200, "text": "é" * 10_000})
    response = await client.get(created.headers["Location"])
    assert response.status == 200
    assert response.content_type == "application/json"
    assert await response.read() == await created.read()
    database.notes.delete_one({"_id": ObjectId((await response.json())["_id"])})


@pytest.mark.parametrize("note_id", ["0" * 24, "unknown"])
async def test_unknown_note(client: Client, note_id: str) -> None:
    await assert_problem(await client.get(f"/notes/{note_id}"), 404, "Not Found")


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
        "[" * 100_000,
    ],
)
async def test_refused_note(client: Client, database: MongoDB, text: str) -> None:
    notes = database.notes.count_documents({})
    await assert_problem(await client.post("/notes", data=text), 400, "Bad Request")
    assert database.notes.count_documents({}) == notes


async def test_body_that_cannot_be_decoded(client: Client) -> None:
    response = await client.post("/notes", data=b"a" * 100, headers={"Content-Encoding": "gzip"})
    await assert_problem(response, 400, "Bad Request")


async def test_too_large_note(client: Client) -> None:
    response = await client.post("/notes", data=b"a" * (2**20 + 1))
    assert response.status == 413


async def test_agents(client: Client) -> None:
    response = await client.get("/agents")
    assert response.status == 200
    agents = await response.json()
    assert len(agents) == 50
    assert agents == sorted(agents, key=lambda agent: agent["number"])
    assert agents[0]["status"] == "offline"


async def test_file(client: Client) -> None:
    response = await client.get("/files/photo.jpg")
    assert response.status == 200
    assert response.content_type == "image/jpeg"
    assert await response.read() == (settings.FILES_DIR / "photo.jpg").read_bytes()


@pytest.mark.parametrize("name", ["missing.jpg", ".", "..%2Fagents.sql", "%2Fetc%2Fpasswd", "%00"])
async def test_missing_file(client: Client, name: str) -> None:
    await assert_problem(await client.get(f"/files/{name}"), 404, "Not Found")


async def test_gridfs(client: Client, database: MongoDB) -> None:
    response = await client.get("/gridfs/photo.jpg")
    assert response.status == 200
    assert response.content_type == "image/jpeg"
    with GridFSBucket(database).open_download_stream_by_name("photo.jpg") as stored:
        assert await response.read() == stored.read()


async def test_gridfs_without_metadata(client: Client, bare_file: str) -> None:
    response = await client.get(f"/gridfs/{bare_file}")
    assert response.status == 200
    assert response.content_type == "application/octet-stream"
    assert await response.read() == b"a" * 300_000


async def test_gridfs_file_is_closed_when_the_client_leaves(client: Client) -> None:
    database = client.app[MONGODB]
    file = await AsyncGridFSBucket(database).open_download_stream_by_name("photo.jpg")
    chunks = views.chunks(file)
    await anext(chunks)
    await chunks.aclose()
    assert file.closed


async def test_missing_gridfs(client: Client) -> None:
    await assert_problem(await client.get("/gridfs/missing.jpg"), 404, "Not Found")


async def test_sleep(client: Client) -> None:
    start = time.monotonic()
    response = await client.get("/sleep", params={"ms": "50"})
    assert time.monotonic() - start >= 0.05
    assert response.status == 200
    assert await response.json() == {"slept_ms": 50}


@pytest.mark.parametrize(
    "target", ["/sleep?ms=soon", "/sleep?ms=30001", "/slow_api?calls=51", "/mongo?doc=medium"]
)
async def test_bad_parameter(client: Client, target: str) -> None:
    await assert_problem(await client.get(target), 400, "Bad Request")


async def test_slow_api(
    client: Client, aiohttp_server: AiohttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def upstream(request: web.Request) -> web.Response:
        name = request.headers["X-Request-Id"]
        return web.json_response({"call": int(request.query["call"]), "name": name})

    app = web.Application()
    app.router.add_get("/", upstream)
    server = await aiohttp_server(app)
    monkeypatch.setattr(settings, "SLOW_API_URL", server.make_url("/"))

    response = await client.get("/slow_api?calls=2&ms=10", headers={"X-Request-Id": "a"})
    assert response.status == 200
    assert await response.json() == {
        "results": [{"call": 0, "name": "a"}, {"call": 1, "name": "a"}]
    }


@pytest.mark.parametrize(
    "answer",
    [
        web.json_response({}, status=404),
        web.json_response([]),
        web.Response(text="{"),
        web.Response(status=302, headers={"Location": "/elsewhere"}),
    ],
    ids=lambda answer: str(answer.status),
)
async def test_slow_api_fails(
    client: Client,
    aiohttp_server: AiohttpServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    answer: web.Response,
) -> None:
    async def upstream(request: web.Request) -> web.Response:
        return web.Response(body=answer.body, status=answer.status, headers=answer.headers)

    async def elsewhere(request: web.Request) -> web.Response:
        return web.json_response({})

    app = web.Application()
    app.router.add_get("/", upstream)
    app.router.add_get("/elsewhere", elsewhere)
    server = await aiohttp_server(app)
    monkeypatch.setattr(settings, "SLOW_API_URL", server.make_url("/"))

    await assert_problem(await client.get("/slow_api?calls=5&ms=10"), 502, "Bad Gateway")
    [record] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert record.getMessage().startswith("'/slow_api': ")


async def test_slow_api_has_a_mistake(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(settings, "SLOW_API_URL")
    await assert_problem(await client.get("/slow_api?calls=2"), 500, "Internal Server Error")


async def test_unknown_path(client: Client) -> None:
    await assert_problem(await client.get("/unknown"), 404, "Not Found")


async def test_method(client: Client) -> None:
    response = await client.post("/json")
    await assert_problem(response, 405, "Method Not Allowed")
    assert "GET" in response.headers["Allow"]


async def test_mistake(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "AGENTS", "SELECT * FROM unknown")
    await assert_problem(await client.get("/agents"), 500, "Internal Server Error")


async def test_missing_file_of_our_own(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "find", lambda name: open("/missing"))
    await assert_problem(await client.get("/files/a"), 500, "Internal Server Error")


async def test_mongodb_is_away(
    aiohttp_client: AiohttpClient,
    unused_tcp_port: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(settings, "MONGODB_URL", f"mongodb://127.0.0.1:{unused_tcp_port}")
    client = await aiohttp_client(await init_app())
    targets = ["/mongo", f"/notes/{ObjectId()}", "/gridfs/a%0Ab"]
    async with asyncio.timeout(15):
        responses = await asyncio.gather(*map(client.get, targets))
    for response in responses:
        await assert_problem(response, 503, "Service Unavailable")
    messages = [record.getMessage() for record in caplog.records if record.name == "aiohttp.web"]
    assert len(messages) == 3
    assert not any("\n" in message for message in messages)  # though a path has one
