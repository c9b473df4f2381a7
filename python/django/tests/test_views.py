import json
import time
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from bson import ObjectId
from django.conf import settings
from django.http import StreamingHttpResponse
from django.test import AsyncClient, Client
from gridfs import GridFSBucket
from pymongo import MongoClient
from pytest_django.fixtures import Settings
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from api import views
from api.databases import mongodb

pytestmark = pytest.mark.django_db


def assert_problem(response: Any, status: int, title: str) -> None:
    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/problem+json"
    problem = json.loads(response.content)
    errors = problem.pop("errors", []) if status == 400 else []
    assert list(problem.items()) == [("type", "about:blank"), ("title", title), ("status", status)]
    assert all({"type", "loc", "msg"} <= error.keys() for error in errors)


def test_index(client: Client) -> None:
    response = client.get("/index")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.content == b"Hello, World!"


def test_json(client: Client) -> None:
    response = client.get("/json")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    assert response.content == b'{"message":"Hello, World!"}'


def test_mongo(client: Client) -> None:
    response = client.get("/mongo", {"doc": "big"})
    assert response.status_code == 200
    article = response.json()
    assert article["slug"] == "big"
    assert len(article["_id"]) == 24


def post(client: Client, text: str | bytes) -> Any:
    return client.post("/notes", text, content_type="application/json")


def test_note(client: Client) -> None:
    response = post(client, '{"title":"\\ud83d\\ude00é","text":""}')
    assert response.status_code == 201
    note_id = response.headers["Location"].removeprefix("/notes/")
    assert mongodb.notes.find_one_and_delete({"_id": ObjectId(note_id)}) == {
        "_id": ObjectId(note_id),
        "title": "😀é",
        "text": "",
    }
    assert response.content.decode() == f'{{"_id":"{note_id}","title":"😀é","text":""}}'


def test_read_note(client: Client) -> None:
    created = post(client, json.dumps({"title": "a" * 200, "text": "é" * 10_000}))
    response = client.get(created.headers["Location"])
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    assert response.content == created.content
    mongodb.notes.delete_one({"_id": ObjectId(response.json()["_id"])})


@pytest.mark.parametrize("note_id", ["0" * 24, "unknown"])
def test_unknown_note(client: Client, note_id: str) -> None:
    assert_problem(client.get(f"/notes/{note_id}"), 404, "Not Found")


@pytest.mark.parametrize(
    "text",
    [
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
def test_refused_note(client: Client, text: str) -> None:
    notes = mongodb.notes.count_documents({})
    assert_problem(post(client, text), 400, "Bad Request")
    assert mongodb.notes.count_documents({}) == notes


def test_note_as_text(client: Client) -> None:
    response = client.post("/notes", '{"title":"a","text":""}', content_type="text/plain")
    assert_problem(response, 415, "Unsupported Media Type")


def test_too_large_note(client: Client) -> None:
    assert_problem(post(client, b" " * (2**20 + 1)), 413, "Request Entity Too Large")


def test_agents(client: Client) -> None:
    response = client.get("/agents")
    assert response.status_code == 200
    agents = response.json()
    assert len(agents) == 50
    assert agents == sorted(agents, key=lambda agent: agent["number"])
    assert agents[0]["status"] == "offline"


def body(response: Any) -> bytes:
    assert isinstance(response, StreamingHttpResponse)
    return response.getvalue()


def test_file(client: Client) -> None:
    response = client.get("/files/photo.jpg")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "image/jpeg"
    assert body(response) == (settings.MEDIA_ROOT / "photo.jpg").read_bytes()


@pytest.mark.parametrize("name", ["missing.jpg", ".", "..%2Fagents.sql", "%2Fetc%2Fpasswd", "%00"])
def test_missing_file(client: Client, name: str) -> None:
    assert_problem(client.get(f"/files/{name}"), 404, "Not Found")


def test_folder_above(client: Client) -> None:
    assert_problem(client.get("/files/.."), 400, "Bad Request")


def test_gridfs(client: Client) -> None:
    response = client.get("/gridfs/photo.jpg")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "image/jpeg"
    with GridFSBucket(mongodb).open_download_stream_by_name("photo.jpg") as stored:
        assert response.headers["Content-Length"] == str(stored.length)
        assert body(response) == stored.read()


def test_gridfs_without_metadata(client: Client, bare_file: str) -> None:
    response = client.get(f"/gridfs/{bare_file}")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/octet-stream"
    assert body(response) == b"a" * 300_000


def test_gridfs_file_is_closed_when_the_client_leaves() -> None:
    file = GridFSBucket(mongodb).open_download_stream_by_name("photo.jpg")
    response = StreamingHttpResponse(views.chunks(file, first=file.readchunk()))
    next(iter(response))
    response.close()
    assert file.closed


def test_gridfs_without_its_first_chunk(client: Client, bare_file: str) -> None:
    file = mongodb.fs.files.find_one({"filename": bare_file}) or {}
    mongodb.fs.chunks.delete_one({"files_id": file["_id"], "n": 0})
    assert_problem(client.get(f"/gridfs/{bare_file}"), 500, "Internal Server Error")


def test_missing_gridfs(client: Client) -> None:
    assert_problem(client.get("/gridfs/missing.jpg"), 404, "Not Found")


def test_sleep(client: Client) -> None:
    start = time.monotonic()
    response = client.get("/sleep", {"ms": "50"})
    assert time.monotonic() - start >= 0.05
    assert response.status_code == 200
    assert response.json() == {"slept_ms": 50}


@pytest.mark.parametrize(
    "target", ["/sleep?ms=soon", "/sleep?ms=30001", "/slow_api?calls=51", "/mongo?doc=medium"]
)
def test_bad_parameter(client: Client, target: str) -> None:
    assert_problem(client.get(target), 400, "Bad Request")


def test_too_many_parameters(client: Client) -> None:
    assert_problem(client.get("/sleep?" + "a&" * 1001), 400, "Bad Request")


@pytest.fixture
def upstream(httpserver: HTTPServer, settings: Settings) -> HTTPServer:
    settings.SLOW_API_URL = httpserver.url_for("/")
    return httpserver


def answer(request: Request) -> Response:
    name = request.headers["X-Request-Id"]
    content = json.dumps({"call": int(request.args["call"]), "name": name})
    return Response(content, content_type="application/json")


RESULTS = {"results": [{"call": 0, "name": "a"}, {"call": 1, "name": "a"}]}


def test_slow_api(client: Client, upstream: HTTPServer) -> None:
    upstream.expect_request("/").respond_with_handler(answer)
    response = client.get("/slow_api?calls=2&ms=10", headers={"X-Request-Id": "a"})
    assert response.status_code == 200
    assert response.json() == RESULTS


def test_slow_api_asgi(async_client: AsyncClient, upstream: HTTPServer) -> None:
    upstream.expect_request("/").respond_with_handler(answer)
    get = async_to_sync(async_client.get)
    response = get("/slow_api?calls=2&ms=10", headers={"X-Request-Id": "a"})
    assert response.status_code == 200
    assert response.json() == RESULTS


@pytest.mark.parametrize(
    "bad",
    [
        Response("{}", 404, content_type="application/json"),
        Response("[]", content_type="application/json"),
        Response("{", content_type="application/json"),
        Response(status=302, headers={"Location": "/elsewhere"}),
    ],
    ids=lambda bad: bad.status,
)
def test_slow_api_fails(
    client: Client, upstream: HTTPServer, caplog: pytest.LogCaptureFixture, bad: Response
) -> None:
    upstream.expect_request("/").respond_with_response(bad)
    upstream.expect_request("/elsewhere").respond_with_json({})
    assert_problem(client.get("/slow_api?calls=5&ms=10"), 502, "Bad Gateway")
    [record] = [record for record in caplog.records if record.name == "api.problems"]
    assert record.getMessage().startswith("'/slow_api': ")


def test_slow_api_has_a_mistake(client: Client, settings: Settings) -> None:
    del settings.SLOW_API_URL
    assert_problem(client.get("/slow_api?calls=2"), 500, "Internal Server Error")


def test_unknown_path(client: Client) -> None:
    assert_problem(client.get("/unknown"), 404, "Not Found")


def test_unknown_host(client: Client) -> None:
    assert_problem(client.get("/index", headers={"Host": "example.org"}), 400, "Bad Request")


@pytest.mark.parametrize(
    ("method", "target", "allowed"), [("POST", "/json", "GET"), ("GET", "/notes", "POST")]
)
def test_method(client: Client, method: str, target: str, allowed: str) -> None:
    response = client.generic(method, target)
    assert response.status_code == 405
    assert allowed in response.headers["Allow"]


def test_missing_file_of_our_own(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "FileResponse", lambda file: open("/missing"))
    assert_problem(client.get("/files/photo.jpg"), 500, "Internal Server Error")


@pytest.mark.parametrize("target", ["/mongo", f"/notes/{ObjectId()}", "/gridfs/a%0Ab"])
def test_mongodb_is_away(
    client: Client,
    port: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    target: str,
) -> None:
    away = MongoClient[dict[str, object]](f"mongodb://127.0.0.1:{port}", timeoutMS=100)
    monkeypatch.setattr(views, "mongodb", away.refservers)
    assert_problem(client.get(target), 503, "Service Unavailable")
    [record] = [record for record in caplog.records if record.name == "api.problems"]
    assert "\n" not in record.getMessage()  # though a path has one
