import pytest
from aiohttp import web
from app import settings, views
from app.main import init_app


async def assert_problem(response, status, title):
    assert response.status == status
    assert response.content_type == "application/problem+json"
    problem = await response.json(content_type=None)
    assert problem["title"] == title
    assert problem["status"] == status


async def test_index(client):
    response = await client.get("/index")
    assert response.status == 200
    assert response.content_type == "text/plain"
    assert await response.text() == "Hello, World!"


async def test_json(client):
    response = await client.get("/json")
    assert response.status == 200
    assert response.content_type == "application/json"
    assert await response.text() == '{"message":"Hello, World!"}'


async def test_mongo(client):
    response = await client.get("/mongo", params={"doc": "big"})
    assert response.status == 200
    article = await response.json()
    assert article["slug"] == "big"
    assert len(article["_id"]) == 24


async def test_agents(client):
    response = await client.get("/agents")
    assert response.status == 200
    agents = await response.json()
    assert len(agents) == 50
    assert agents == sorted(agents, key=lambda agent: agent["number"])
    assert agents[0]["status"] == "offline"


async def test_file(client):
    response = await client.get("/files/photo.jpg")
    assert response.status == 200
    assert response.content_type == "image/jpeg"
    assert await response.read() == (settings.FILES_DIR / "photo.jpg").read_bytes()


@pytest.mark.parametrize("name", ["missing.jpg", "..%2F..%2Fetc%2Fpasswd", "%2Fetc%2Fpasswd"])
async def test_missing_file(client, name):
    await assert_problem(await client.get(f"/files/{name}"), 404, "Not Found")


async def test_gridfs(client):
    response = await client.get("/gridfs/photo.jpg")
    assert response.status == 200
    assert response.content_type == "image/jpeg"
    assert response.content_length == len(await response.read())


async def test_sleep(client):
    response = await client.get("/sleep", params={"ms": "20"})
    assert response.status == 200
    assert await response.json() == {"slept_ms": 20}


@pytest.mark.parametrize("target", ["/sleep?ms=soon", "/slow_api?calls=51", "/mongo?doc=medium"])
async def test_bad_parameter(client, target):
    await assert_problem(await client.get(target), 400, "Bad Request")


async def test_slow_api(client, aiohttp_server, monkeypatch):
    async def upstream(request):
        name = request.headers["X-Request-Id"]
        return web.json_response({"call": int(request.query["call"]), "name": name})

    app = web.Application()
    app.router.add_get("/", upstream)
    server = await aiohttp_server(app)
    monkeypatch.setattr(settings, "SLOW_API_URL", str(server.make_url("/")))

    response = await client.get("/slow_api?calls=2&ms=10", headers={"X-Request-Id": "a"})
    assert response.status == 200
    assert await response.json() == {
        "results": [{"call": 0, "name": "a"}, {"call": 1, "name": "a"}]
    }


async def test_slow_api_fails(client, aiohttp_server, monkeypatch):
    server = await aiohttp_server(web.Application())  # knows no path
    monkeypatch.setattr(settings, "SLOW_API_URL", str(server.make_url("/")))
    await assert_problem(await client.get("/slow_api?calls=2&ms=10"), 502, "Bad Gateway")


async def test_unknown_path(client):
    await assert_problem(await client.get("/unknown"), 404, "Not Found")


async def test_mistake(client, monkeypatch):
    monkeypatch.setattr(views, "AGENTS", "SELECT * FROM unknown")
    await assert_problem(await client.get("/agents"), 500, "Internal Server Error")


@pytest.mark.parametrize("target", ["/mongo", "/gridfs/photo.jpg"])
async def test_mongodb_is_away(aiohttp_client, unused_tcp_port, monkeypatch, target):
    monkeypatch.setattr(settings, "MONGODB_URL", f"mongodb://127.0.0.1:{unused_tcp_port}")
    client = await aiohttp_client(await init_app())
    await assert_problem(await client.get(target), 503, "Service Unavailable")
