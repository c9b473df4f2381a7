import asyncpg
import orjson
import pytest
import pytest_twisted
import treq
from app import settings, views
from app.databases import as_deferred, postgresql
from klein import Klein
from pymongo import AsyncMongoClient
from pytest_twisted import ensureDeferred
from twisted.internet import reactor
from twisted.internet.endpoints import TCP4ServerEndpoint
from twisted.web.server import Site


@pytest.fixture
def serve(request):
    """Serve an application on a free port, and say where."""

    async def serve(app):
        endpoint = TCP4ServerEndpoint(reactor, 0, interface="127.0.0.1")
        port = await endpoint.listen(Site(app.resource()))
        request.addfinalizer(lambda: pytest_twisted.blockon(port.stopListening()))
        return f"http://127.0.0.1:{port.getHost().port}"

    return serve


@pytest_twisted.async_fixture
async def get(serve):
    await as_deferred(postgresql)
    url = await serve(views.app)
    return lambda target, **options: treq.get(url + target, **options)


def content_type(response):
    return response.headers.getRawHeaders("Content-Type")[0]


async def assert_problem(response, status, title):
    assert response.code == status
    assert content_type(response) == "application/problem+json"
    problem = await response.json()
    assert problem["title"] == title
    assert problem["status"] == status


@ensureDeferred
async def test_index(get):
    response = await get("/index")
    assert response.code == 200
    assert content_type(response) == "text/plain; charset=utf-8"
    assert await response.text() == "Hello, World!"


@ensureDeferred
async def test_json(get):
    response = await get("/json")
    assert response.code == 200
    assert content_type(response) == "application/json"
    assert await response.text() == '{"message":"Hello, World!"}'


@ensureDeferred
async def test_mongo(get):
    response = await get("/mongo?doc=big")
    assert response.code == 200
    article = await response.json()
    assert article["slug"] == "big"
    assert len(article["_id"]) == 24


@ensureDeferred
async def test_agents(get):
    response = await get("/agents")
    assert response.code == 200
    agents = await response.json()
    assert len(agents) == 50
    assert agents == sorted(agents, key=lambda agent: agent["number"])
    assert agents[0]["status"] == "offline"


@ensureDeferred
async def test_file(get):
    response = await get("/files/photo.jpg")
    assert response.code == 200
    assert content_type(response) == "image/jpeg"
    assert await response.content() == (settings.FILES_DIR / "photo.jpg").read_bytes()


MISSING = ["/files/missing.jpg", "/files/..%2F..%2Fetc%2Fpasswd", "/gridfs/missing.jpg"]


@pytest.mark.parametrize("target", MISSING)
@ensureDeferred
async def test_missing_file(get, target):
    await assert_problem(await get(target), 404, "Not Found")


@ensureDeferred
async def test_gridfs(get):
    response = await get("/gridfs/photo.jpg")
    assert response.code == 200
    assert content_type(response) == "image/jpeg"
    assert response.length == len(await response.content())


@ensureDeferred
async def test_sleep(get):
    response = await get("/sleep?ms=20")
    assert response.code == 200
    assert await response.json() == {"slept_ms": 20}


@pytest.mark.parametrize("target", ["/sleep?ms=soon", "/slow_api?calls=51", "/mongo?doc=medium"])
@ensureDeferred
async def test_bad_parameter(get, target):
    await assert_problem(await get(target), 400, "Bad Request")


@ensureDeferred
async def test_slow_api(get, serve, monkeypatch):
    upstream = Klein()

    @upstream.route("/")
    def answer(request):
        call = int(request.args[b"call"][0])
        return orjson.dumps({"call": call, "name": request.getHeader("X-Request-Id")})

    monkeypatch.setattr(settings, "SLOW_API_URL", await serve(upstream))
    response = await get("/slow_api?calls=2&ms=10", headers={"X-Request-Id": "a"})
    assert response.code == 200
    assert await response.json() == {
        "results": [{"call": 0, "name": "a"}, {"call": 1, "name": "a"}]
    }


@ensureDeferred
async def test_slow_api_fails(get, serve, monkeypatch):
    monkeypatch.setattr(settings, "SLOW_API_URL", await serve(Klein()))  # knows no path
    await assert_problem(await get("/slow_api?calls=2&ms=10"), 502, "Bad Gateway")


@ensureDeferred
async def test_unknown_path(get):
    await assert_problem(await get("/unknown"), 404, "Not Found")


@ensureDeferred
async def test_mistake(get, monkeypatch):
    monkeypatch.setattr(views, "AGENTS", "SELECT * FROM unknown")
    await assert_problem(await get("/agents"), 500, "Internal Server Error")


@pytest.mark.parametrize("target", ["/mongo", "/gridfs/photo.jpg"])
@ensureDeferred
async def test_mongodb_is_away(get, monkeypatch, target):
    client = AsyncMongoClient("mongodb://127.0.0.1:1", serverSelectionTimeoutMS=100)
    monkeypatch.setattr(views, "mongodb", client.refservers)
    await assert_problem(await get(target), 503, "Service Unavailable")


@ensureDeferred
async def test_postgresql_is_away(get, monkeypatch):
    pool = await as_deferred(asyncpg.create_pool("postgresql://127.0.0.1:1/", min_size=0))
    monkeypatch.setattr(views, "postgresql", pool)
    await assert_problem(await get("/agents"), 503, "Service Unavailable")
