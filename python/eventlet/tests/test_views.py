import json
import logging
import time
from collections.abc import Callable

import pytest
from bson import ObjectId
from gridfs import GridFSBucket, GridOut
from pymongo import MongoClient
from werkzeug import Request, Response
from werkzeug.test import Client, TestResponse

from app import views
from app.databases import mongodb
from app.settings import settings

Upstream = Callable[[Callable[[Request], Response]], None]


def assert_problem(response: TestResponse, status: int, title: str) -> None:
    assert response.status_code == status
    assert response.content_type == "application/problem+json"
    problem = json.loads(response.data)
    errors = problem.pop("errors", []) if status == 400 else []
    assert list(problem.items()) == [("type", "about:blank"), ("title", title), ("status", status)]
    assert all({"type", "loc", "msg"} <= error.keys() for error in errors)


def test_index(client: Client) -> None:
    response = client.get("/index")
    assert response.status_code == 200
    assert response.mimetype == "text/plain"
    assert response.text == "Hello, World!"


def test_json(client: Client) -> None:
    response = client.get("/json")
    assert response.status_code == 200
    assert response.content_type == "application/json"
    assert response.text == '{"message":"Hello, World!"}'


def test_mongo(client: Client) -> None:
    response = client.get("/mongo?doc=big")
    assert response.status_code == 200
    article = json.loads(response.data)
    assert article["slug"] == "big"
    assert len(article["_id"]) == 24


def post(client: Client, text: str, content_type: str = "application/json") -> TestResponse:
    return client.post("/notes", data=text, content_type=content_type)


def test_note(client: Client) -> None:
    created = post(client, '{"title":"\\ud83d\\ude00é","text":""}')
    assert created.status_code == 201
    note_id = created.headers["Location"].removeprefix("/notes/")
    read = client.get(created.headers["Location"])
    assert mongodb.notes.find_one_and_delete({"_id": ObjectId(note_id)}) == {
        "_id": ObjectId(note_id),
        "title": "😀é",
        "text": "",
    }
    assert created.text == f'{{"_id":"{note_id}","title":"😀é","text":""}}'
    assert read.status_code == 200
    assert read.content_type == "application/json"
    assert read.data == created.data


@pytest.mark.parametrize("note_id", ["0" * 24, "unknown"])
def test_unknown_note(client: Client, note_id: str) -> None:
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
def test_refused_note(client: Client, text: str) -> None:
    notes = mongodb.notes.count_documents({})
    assert_problem(post(client, text), 400, "Bad Request")
    assert mongodb.notes.count_documents({}) == notes


def test_too_large_note(client: Client) -> None:
    assert post(client, "a" * (2**20 + 1)).status_code == 413


def test_no_json(client: Client) -> None:
    response = post(client, '{"title":"a","text":""}', "text/plain")
    assert_problem(response, 415, "Unsupported Media Type")


def test_agents(client: Client) -> None:
    response = client.get("/agents")
    assert response.status_code == 200
    agents = json.loads(response.data)
    assert len(agents) == 50
    assert agents == sorted(agents, key=lambda agent: agent["number"])
    assert agents[0]["status"] == "offline"


def test_file(client: Client) -> None:
    response = client.get("/files/photo.jpg")
    assert response.status_code == 200
    assert response.content_type == "image/jpeg"
    assert response.data == (settings.FILES_DIR / "photo.jpg").read_bytes()


@pytest.mark.parametrize("name", ["missing.jpg", ".", "..%2Fagents.sql", "%2Fetc%2Fpasswd", "%00"])
def test_missing_file(client: Client, name: str) -> None:
    assert_problem(client.get(f"/files/{name}"), 404, "Not Found")


def test_gridfs(client: Client) -> None:
    response = client.get("/gridfs/photo.jpg")
    assert response.status_code == 200
    assert response.content_type == "image/jpeg"
    with GridFSBucket(mongodb).open_download_stream_by_name("photo.jpg") as stored:
        assert response.data == stored.read()


def test_gridfs_without_metadata(client: Client, bare_file: str) -> None:
    response = client.get(f"/gridfs/{bare_file}")
    assert response.status_code == 200
    assert response.content_type == "application/octet-stream"
    assert response.data == b"a" * 300_000


def test_gridfs_file_is_closed_when_the_client_leaves(
    client: Client, bare_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[GridOut] = []

    class Bucket(GridFSBucket):
        def open_download_stream_by_name(self, *args: object, **kwargs: object) -> GridOut:
            file = GridFSBucket(mongodb).open_download_stream_by_name(bare_file)
            opened.append(file)
            return file

    monkeypatch.setattr(views, "GridFSBucket", Bucket)
    client.get(f"/gridfs/{bare_file}", buffered=False).close()
    assert [file.closed for file in opened] == [True]


def test_missing_gridfs(client: Client) -> None:
    assert_problem(client.get("/gridfs/missing.jpg"), 404, "Not Found")


def test_sleep(client: Client) -> None:
    start = time.monotonic()
    response = client.get("/sleep?ms=50")
    assert time.monotonic() - start >= 0.05
    assert response.status_code == 200
    assert response.text == '{"slept_ms":50}'


@pytest.mark.parametrize(
    "target", ["/sleep?ms=soon", "/sleep?ms=30001", "/slow_api?calls=51", "/mongo?doc=medium"]
)
def test_bad_parameter(client: Client, target: str) -> None:
    assert_problem(client.get(target), 400, "Bad Request")


def test_slow_api(client: Client, upstream: Upstream) -> None:
    def answer(request: Request) -> Response:
        name = request.headers["X-Request-Id"]
        body = {"call": int(request.args["call"]), "name": name}
        return Response(json.dumps(body), content_type="application/json")

    upstream(answer)
    response = client.get("/slow_api?calls=2&ms=10", headers={"X-Request-Id": "a"})
    assert response.status_code == 200
    assert json.loads(response.data) == {
        "results": [{"call": 0, "name": "a"}, {"call": 1, "name": "a"}]
    }


@pytest.mark.parametrize(
    "answer",
    [
        Response("{}", status=404),
        Response("[]"),
        Response("{"),
        Response(status=302, headers={"Location": "/elsewhere"}),
    ],
    ids=lambda answer: str(answer.status_code),
)
def test_slow_api_fails(
    client: Client, upstream: Upstream, caplog: pytest.LogCaptureFixture, answer: Response
) -> None:
    upstream(lambda request: Response("{}") if request.path == "/elsewhere" else answer)
    assert_problem(client.get("/slow_api?calls=5&ms=10"), 502, "Bad Gateway")
    [record] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert record.getMessage().startswith("'/slow_api': ")


def test_slow_api_has_a_mistake(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(settings, "SLOW_API_URL")
    assert_problem(client.get("/slow_api?calls=2"), 500, "Internal Server Error")


@pytest.mark.parametrize("path", ["/unknown", "//index", "/index/"])
def test_unknown_path(client: Client, path: str) -> None:
    assert_problem(client.get(path), 404, "Not Found")


def test_method(client: Client) -> None:
    response = client.post("/json")
    assert_problem(response, 405, "Method Not Allowed")
    assert "GET" in response.headers["Allow"]


def test_mistake(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "AGENTS", "SELECT * FROM unknown")
    assert_problem(client.get("/agents"), 500, "Internal Server Error")


def test_missing_file_of_our_own(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "send_from_directory", lambda *args: open("/missing"))
    assert_problem(client.get("/files/a"), 500, "Internal Server Error")


def test_mongodb_is_away(
    client: Client,
    unused_tcp_port: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    url = f"mongodb://127.0.0.1:{unused_tcp_port}/refservers"
    with MongoClient[dict[str, object]](url, timeoutMS=500) as away:
        monkeypatch.setattr(views, "mongodb", away.get_default_database())
        for target in ("/mongo", f"/notes/{ObjectId()}", "/gridfs/a%0Ab"):
            assert_problem(client.get(target), 503, "Service Unavailable")
    messages = [record.getMessage() for record in caplog.records if record.name == "app.problems"]
    assert len(messages) == 3
    assert not any("\n" in message for message in messages)  # though a path has one
