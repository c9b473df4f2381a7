import time

import pytest
from app import views
from app.settings import FILES_DIR
from pymongo import MongoClient
from werkzeug.test import Client, TestResponse

PHOTO = (FILES_DIR / "photo.jpg").read_bytes()


def test_index(client: Client) -> None:
    response = client.get("/index")
    assert response.status_code == 200
    assert response.content_type == "text/plain; charset=utf-8"
    assert response.text == "Hello, World!"


def test_json(client: Client) -> None:
    response = client.get("/json")
    assert response.content_type == "application/json"
    assert response.text == '{"message":"Hello, World!"}'


def test_a_document(client: Client) -> None:
    article = client.get("/mongo?doc=big").json
    assert list(article)[:2] == ["_id", "slug"]
    assert len(bytes.fromhex(article["_id"])) == 12
    assert article["slug"] == "big"


def test_agents(client: Client) -> None:
    agents = client.get("/agents").json
    assert len(agents) == 50
    assert agents == sorted(agents, key=lambda agent: agent["number"])
    assert agents[0]["status"] == "offline"


def test_a_file(client: Client) -> None:
    response = client.get("/files/photo.jpg")
    assert response.content_type == "image/jpeg"
    assert response.data == PHOTO


def test_a_gridfs_file(client: Client) -> None:
    response = client.get("/gridfs/photo.jpg")
    assert response.content_type == "image/jpeg"
    assert response.content_length == len(PHOTO)
    assert response.data == PHOTO


def test_sleep(client: Client) -> None:
    start = time.monotonic()
    assert client.get("/sleep?ms=50").json == {"slept_ms": 50}
    assert time.monotonic() - start >= 0.05


@pytest.mark.usefixtures("upstream")
def test_slow_api(client: Client) -> None:
    response = client.get("/slow_api?calls=3&ms=0", headers={"X-Request-Id": "a"})
    assert response.json == {"results": [{"call": call, "id": "a"} for call in range(3)]}


@pytest.mark.usefixtures("upstream")
def test_the_upstream_fails(client: Client) -> None:
    assert_problem(client.get("/slow_api?calls=4&ms=0"), 502, "Bad Gateway")


@pytest.mark.parametrize(
    "path", ["/nothing", "/files/nothing.txt", "/files/..%2Fapp%2Fmain.py", "/gridfs/nothing.txt"]
)
def test_not_found(client: Client, path: str) -> None:
    assert_problem(client.get(path), 404, "Not Found")


@pytest.mark.parametrize("query", ["/mongo?doc=huge", "/sleep?ms=soon", "/slow_api?calls=51"])
def test_a_bad_parameter(client: Client, query: str) -> None:
    assert_problem(client.get(query), 400, "Bad Request")


def test_a_query_that_is_wrong(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "AGENTS", "SELECT nothing")
    assert_problem(client.get("/agents"), 500, "Internal Server Error")


def test_a_database_that_is_away(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    away = MongoClient("mongodb://127.0.0.1:1", serverSelectionTimeoutMS=100)
    monkeypatch.setattr(views, "mongodb", away.refservers)
    assert_problem(client.get("/mongo"), 503, "Service Unavailable")


def assert_problem(response: TestResponse, status: int, title: str) -> None:
    assert response.status_code == status
    assert response.content_type == "application/problem+json"
    problem = response.get_json()
    problem.pop("detail", None)
    assert problem == {"type": "about:blank", "title": title, "status": status}
