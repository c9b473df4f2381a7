from pathlib import Path

import pytest
from api import views
from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import connection
from django.test import AsyncClient, Client
from pymongo import MongoClient

PHOTO = Path(settings.MEDIA_ROOT) / "photo.jpg"


def assert_problem(response, status, title):
    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/problem+json"
    problem = response.json()
    problem.pop("detail", None)
    assert problem == {"type": "about:blank", "title": title, "status": status}


def test_index(client):
    response = client.get("/index")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content == b"Hello, World!"


def test_json(client):
    response = client.get("/json")
    assert response.headers["Content-Type"] == "application/json"
    assert response.content == b'{"message":"Hello, World!"}'


def test_mongo(client):
    article = client.get("/mongo", {"doc": "big"}).json()
    assert article["slug"] == "big"
    assert len(article["_id"]) == 24


@pytest.mark.parametrize("urlconf", ["refservers.urls", "refservers.urls_sql"])
def test_agents(client, settings, urlconf):
    settings.ROOT_URLCONF = urlconf
    agents = client.get("/agents").json()
    assert len(agents) == 50
    assert agents == sorted(agents, key=lambda agent: agent["number"])
    assert agents[0]["status"] == "offline"


def test_file(client):
    response = client.get("/files/photo.jpg")
    assert response.headers["Content-Type"] == "image/jpeg"
    assert response.getvalue() == PHOTO.read_bytes()


def test_gridfs(client):
    response = client.get("/gridfs/photo.jpg")
    assert response.headers["Content-Type"] == "image/jpeg"
    assert response.headers["Content-Length"] == str(PHOTO.stat().st_size)
    assert response.getvalue() == PHOTO.read_bytes()


@pytest.mark.parametrize("get", [Client().get, async_to_sync(AsyncClient().get)])
def test_sleep(get):
    assert get("/sleep?ms=20").json() == {"slept_ms": 20}


@pytest.mark.parametrize("target", ["/sleep?ms=soon", "/slow_api?calls=51", "/mongo?doc=medium"])
def test_bad_parameter(client, target):
    assert_problem(client.get(target), 400, "Bad Request")


@pytest.mark.usefixtures("upstream")
def test_slow_api(client):
    response = client.get("/slow_api?calls=3&ms=0", headers={"X-Request-Id": "a"})
    assert response.json() == {"results": [{"call": call, "id": "a"} for call in range(3)]}


@pytest.mark.usefixtures("upstream")
def test_slow_api_fails(client):
    assert_problem(client.get("/slow_api?calls=4&ms=0"), 502, "Bad Gateway")


@pytest.mark.parametrize("path", ["/unknown", "/files/unknown", "/gridfs/unknown"])
def test_not_found(client, path):
    assert_problem(client.get(path), 404, "Not Found")


@pytest.mark.parametrize("name", ["..", "..%2F..%2Fetc%2Fpasswd", "%2Fetc%2Fpasswd"])
def test_path_outside(client, name):
    assert_problem(client.get(f"/files/{name}"), 404, "Not Found")


@pytest.mark.urls("refservers.urls_sql")
def test_mistake(client, monkeypatch):
    monkeypatch.setattr(views, "AGENTS", "SELECT nothing")
    assert_problem(client.get("/agents"), 500, "Internal Server Error")


@pytest.mark.parametrize("target", ["/mongo", "/gridfs/photo.jpg"])
def test_mongodb_is_away(client, monkeypatch, target):
    away = MongoClient("mongodb://127.0.0.1:1/refservers", serverSelectionTimeoutMS=100)
    monkeypatch.setattr(views, "mongodb", away.get_default_database())
    assert_problem(client.get(target), 503, "Service Unavailable")


def test_postgresql_is_away(client, monkeypatch):
    connection.close()
    connection.close_pool()
    monkeypatch.setitem(connection.settings_dict, "PORT", 1)
    assert_problem(client.get("/agents"), 503, "Service Unavailable")
    connection.close_pool()
