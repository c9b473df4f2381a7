import pytest
from app import views
from app.main import app
from app.settings import settings
from fastapi.testclient import TestClient
from httpx2 import Response


def test_index(client: TestClient) -> None:
    response = client.get("/index")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.text == "Hello, World!"


def test_json(client: TestClient) -> None:
    response = client.get("/json")
    assert response.headers["Content-Type"] == "application/json"
    assert response.text == '{"message":"Hello, World!"}'


def test_a_document(client: TestClient) -> None:
    article = client.get("/mongo?doc=big").json()
    assert list(article)[:2] == ["_id", "slug"]
    assert len(bytes.fromhex(article["_id"])) == 12
    assert article["slug"] == "big"


def test_agents(client: TestClient) -> None:
    agents = client.get("/agents").json()
    assert len(agents) == 50
    assert agents == sorted(agents, key=lambda agent: agent["number"])
    assert agents[0]["status"] == "offline"


def test_a_file(client: TestClient) -> None:
    response = client.get("/files/photo.jpg")
    assert response.headers["Content-Type"] == "image/jpeg"
    assert response.content == (settings.files_dir / "photo.jpg").read_bytes()


def test_a_gridfs_file(client: TestClient) -> None:
    response = client.get("/gridfs/photo.jpg")
    assert response.headers["Content-Type"] == "image/jpeg"
    assert response.headers["Content-Length"] == str(len(response.content))
    assert response.content == (settings.files_dir / "photo.jpg").read_bytes()


def test_sleep(client: TestClient) -> None:
    response = client.get("/sleep?ms=50")
    assert response.json() == {"slept_ms": 50}
    assert response.elapsed.total_seconds() >= 0.05


@pytest.mark.usefixtures("upstream")
def test_slow_api(client: TestClient) -> None:
    response = client.get("/slow_api?calls=3&ms=0", headers={"X-Request-Id": "a"})
    assert response.json() == {"results": [{"call": call, "id": "a"} for call in range(3)]}


@pytest.mark.usefixtures("upstream")
def test_the_upstream_fails(client: TestClient) -> None:
    assert_problem(client.get("/slow_api?calls=4&ms=0"), 502, "Bad Gateway")


@pytest.mark.parametrize("path", ["/nothing", "/files/nothing.txt", "/gridfs/nothing.txt"])
def test_not_found(client: TestClient, path: str) -> None:
    assert_problem(client.get(path), 404, "Not Found")


@pytest.mark.parametrize("query", ["/mongo?doc=huge", "/sleep?ms=soon", "/slow_api?calls=51"])
def test_a_bad_parameter(client: TestClient, query: str) -> None:
    assert_problem(client.get(query), 400, "Bad Request")


def test_a_query_that_is_wrong(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "AGENTS", "SELECT nothing")
    assert_problem(client.get("/agents"), 500, "Internal Server Error")


@pytest.mark.parametrize("path", ["/mongo", "/agents"])
def test_a_database_that_is_away(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "mongodb_url", "mongodb://127.0.0.1:1/refservers")
    monkeypatch.setattr(settings, "database_url", "postgresql://127.0.0.1:1/refservers")
    with TestClient(app) as client:
        assert_problem(client.get(path), 503, "Service Unavailable")


def assert_problem(response: Response, status: int, title: str) -> None:
    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/problem+json"
    problem = response.json()
    problem.pop("detail", None)
    assert problem == {"type": "about:blank", "title": title, "status": status}
