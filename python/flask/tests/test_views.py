import io
import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from bson import ObjectId
from flask import Flask
from flask.testing import FlaskClient
from gridfs import GridFSBucket, GridOut
from pymongo.database import Database
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response
from werkzeug.test import TestResponse

from app import views
from app.main import create_app
from app.settings import settings

MongoDB = Database[dict[str, Any]]


def assert_problem(response: TestResponse, status: int, title: str) -> None:
    assert response.status_code == status
    assert response.content_type == "application/problem+json"
    problem = json.loads(response.text)
    errors = problem.pop("errors", []) if status == 400 else []
    assert list(problem.items()) == [("type", "about:blank"), ("title", title), ("status", status)]
    assert all({"type", "loc", "msg"} <= error.keys() for error in errors)


def test_index(client: FlaskClient) -> None:
    response = client.get("/index")
    assert response.status_code == 200
    assert response.content_type == "text/plain; charset=utf-8"
    assert response.text == "Hello, World!"


def test_json(client: FlaskClient) -> None:
    response = client.get("/json")
    assert response.status_code == 200
    assert response.content_type == "application/json"
    assert response.text == '{"message":"Hello, World!"}'


def test_mongo(client: FlaskClient) -> None:
    response = client.get("/mongo?doc=big")
    assert response.status_code == 200
    article = json.loads(response.text)
    assert list(article)[:2] == ["_id", "slug"]
    assert article["slug"] == "big"
    assert len(article["_id"]) == 24


def test_note(client: FlaskClient, database: MongoDB) -> None:
    body = b'{"title":"\\ud83d\\ude00' + 'é","text":""}'.encode()
    chunked = {"wsgi.input_terminated": True}
    response = client.post(
        "/notes",
        input_stream=io.BytesIO(body),
        content_type="application/json",
        environ_overrides=chunked,
    )
    assert response.status_code == 201
    note_id = response.headers["Location"].removeprefix("/notes/")
    assert database.notes.find_one_and_delete({"_id": ObjectId(note_id)}) == {
        "_id": ObjectId(note_id),
        "title": "😀é",
        "text": "",
    }
    assert response.text == f'{{"_id":"{note_id}","title":"😀é","text":""}}'


def test_read_note(client: FlaskClient, database: MongoDB) -> None:
    created = client.post("/notes", json={"title": "a" * 200, "text": "é" * 10_000})
    response = client.get(created.headers["Location"])
    assert response.status_code == 200
    assert response.content_type == "application/json"
    assert response.data == created.data
    database.notes.delete_one({"_id": ObjectId(json.loads(response.text)["_id"])})


@pytest.mark.parametrize("note_id", ["0" * 24, "unknown"])
def test_unknown_note(client: FlaskClient, note_id: str) -> None:
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
        "[" * 100_000,
    ],
)
def test_refused_note(client: FlaskClient, database: MongoDB, text: str) -> None:
    notes = database.notes.count_documents({})
    response = client.post("/notes", data=text, content_type="application/json")
    assert_problem(response, 400, "Bad Request")
    assert database.notes.count_documents({}) == notes


def test_note_of_another_type(client: FlaskClient) -> None:
    response = client.post("/notes", data='{"title":"a","text":""}', content_type="text/plain")
    assert_problem(response, 415, "Unsupported Media Type")


def test_too_large_note(client: FlaskClient) -> None:
    response = client.post("/notes", data=b"a" * (2**20 + 1), content_type="application/json")
    assert response.status_code == 413


def test_agents(client: FlaskClient) -> None:
    response = client.get("/agents")
    assert response.status_code == 200
    agents = json.loads(response.text)
    assert len(agents) == 50
    assert agents == sorted(agents, key=lambda agent: agent["number"])
    assert agents[0]["status"] == "offline"


def test_file(client: FlaskClient) -> None:
    response = client.get("/files/photo.jpg")
    assert response.status_code == 200
    assert response.content_type == "image/jpeg"
    assert response.data == (settings.FILES_DIR / "photo.jpg").read_bytes()


@pytest.mark.parametrize("name", ["missing.jpg", "..%2Fapp%2Fmain.py", "%2Fetc%2Fpasswd", "%00"])
def test_missing_file(client: FlaskClient, name: str) -> None:
    assert_problem(client.get(f"/files/{name}"), 404, "Not Found")


def test_gridfs(client: FlaskClient, database: MongoDB) -> None:
    response = client.get("/gridfs/photo.jpg")
    assert response.status_code == 200
    assert response.content_type == "image/jpeg"
    with GridFSBucket(database).open_download_stream_by_name("photo.jpg") as stored:
        assert response.data == stored.read()


def test_gridfs_without_metadata(client: FlaskClient, bare_file: str) -> None:
    response = client.get(f"/gridfs/{bare_file}")
    assert response.status_code == 200
    assert response.content_type == "application/octet-stream"
    assert response.data == b"a" * 300_000


def test_gridfs_file_is_closed_when_the_client_leaves(
    client: FlaskClient, bare_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = []
    monkeypatch.setattr(GridOut, "close", lambda file: closed.append(file.filename))
    response = client.get(f"/gridfs/{bare_file}")
    next(response.iter_encoded())
    response.close()
    assert closed == [bare_file]


def test_missing_gridfs(client: FlaskClient) -> None:
    assert_problem(client.get("/gridfs/missing.jpg"), 404, "Not Found")


def test_sleep(client: FlaskClient) -> None:
    start = time.monotonic()
    response = client.get("/sleep?ms=50")
    assert time.monotonic() - start >= 0.05
    assert response.status_code == 200
    assert response.json == {"slept_ms": 50}


@pytest.mark.parametrize(
    "target", ["/sleep?ms=soon", "/sleep?ms=30001", "/slow_api?calls=51", "/mongo?doc=medium"]
)
def test_bad_parameter(client: FlaskClient, target: str) -> None:
    assert_problem(client.get(target), 400, "Bad Request")


@pytest.fixture
def upstream(app: Flask, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> HTTPServer:
    monkeypatch.setitem(app.config, "SLOW_API_URL", httpserver.url_for("/"))
    return httpserver


def test_slow_api(client: FlaskClient, upstream: HTTPServer) -> None:
    def answer(request: Request) -> Response:
        name = request.headers["X-Request-Id"]
        body = {"call": int(request.args["call"]), "name": name}
        return Response(json.dumps(body), content_type="application/json")

    upstream.expect_request("/").respond_with_handler(answer)
    response = client.get("/slow_api?calls=2&ms=10", headers={"X-Request-Id": "a"})
    assert response.status_code == 200
    assert response.json == {"results": [{"call": 0, "name": "a"}, {"call": 1, "name": "a"}]}


@pytest.mark.parametrize(
    "answer",
    [
        Response("{}", 404),
        Response("[]"),
        Response("{"),
        Response(b"\xff"),
        Response(status=302, headers={"Location": "/elsewhere"}),
    ],
    ids=["404", "array", "cut", "latin-1", "redirect"],
)
def test_slow_api_fails(
    client: FlaskClient, upstream: HTTPServer, caplog: pytest.LogCaptureFixture, answer: Response
) -> None:
    upstream.expect_request("/").respond_with_response(answer)
    upstream.expect_request("/elsewhere").respond_with_json({})
    assert_problem(client.get("/slow_api?calls=5&ms=10"), 502, "Bad Gateway")
    [record] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert record.getMessage().startswith("'/slow_api': ")


def test_slow_api_has_a_mistake(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(views, "upstream")
    assert_problem(client.get("/slow_api?calls=2"), 500, "Internal Server Error")


def test_unknown_path(client: FlaskClient) -> None:
    assert_problem(client.get("/unknown"), 404, "Not Found")


def test_method(client: FlaskClient) -> None:
    response = client.post("/json")
    assert_problem(response, 405, "Method Not Allowed")
    assert "GET" in response.headers["Allow"]


def test_mistake(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(views, "AGENTS", "SELECT * FROM unknown")
    assert_problem(client.get("/agents"), 500, "Internal Server Error")
    assert [record.getMessage() for record in caplog.records if record.exc_info] == ["'/agents'"]


def test_missing_file_of_our_own(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "send_from_directory", lambda folder, name: open("/missing"))
    assert_problem(client.get("/files/a"), 500, "Internal Server Error")


def test_databases_are_away(unused_port: int, caplog: pytest.LogCaptureFixture) -> None:
    app = create_app(
        MONGODB_URL=f"mongodb://127.0.0.1:{unused_port}",
        DATABASE_URL=f"postgresql://me:secret@127.0.0.1:{unused_port}/refservers",
    )
    targets = ["/mongo", f"/notes/{ObjectId()}", "/gridfs/a%0Ab", "/agents"]
    start = time.monotonic()
    with ThreadPoolExecutor() as executor:
        responses = list(executor.map(lambda target: app.test_client().get(target), targets))
    assert time.monotonic() - start < 15
    for response in responses:
        assert_problem(response, 503, "Service Unavailable")
    messages = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(messages) == 4
    assert not any("\n" in message for message in messages)  # though a path has one
    assert "secret" not in caplog.text
