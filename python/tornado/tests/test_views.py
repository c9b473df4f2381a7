from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from app import settings, views
from app.databases import connect
from app.main import make_app
from tornado.escape import json_decode
from tornado.httpclient import HTTPResponse
from tornado.httpserver import HTTPServer
from tornado.testing import AsyncHTTPTestCase, bind_unused_port
from tornado.web import Application, RequestHandler


class ServerTest(AsyncHTTPTestCase):
    def get_app(self) -> Application:
        self.connections = self.io_loop.run_sync(connect)
        return make_app(self.connections)

    def tearDown(self) -> None:
        self.connections["postgresql"].terminate()
        super().tearDown()

    def assert_problem(self, response: HTTPResponse, status: int, title: str) -> None:
        assert response.code == status
        assert response.headers["Content-Type"] == "application/problem+json"
        problem = json_decode(response.body)
        problem.pop("detail", None)
        assert problem == {"type": "about:blank", "title": title, "status": status}

    @contextmanager
    def upstream(self, *handlers: tuple[str, type[RequestHandler]]) -> Iterator[None]:
        sock, port = bind_unused_port()
        server = HTTPServer(Application(handlers))
        server.add_sockets([sock])
        with patch.object(settings, "SLOW_API_URL", f"http://127.0.0.1:{port}/"):
            yield
        server.stop()


class UpstreamHandler(RequestHandler):
    def get(self) -> None:
        name = self.request.headers["X-Request-Id"]
        self.write({"call": int(self.get_argument("call")), "name": name})


class ViewsTest(ServerTest):
    def test_index(self) -> None:
        response = self.fetch("/index")
        assert response.code == 200
        assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert response.body == b"Hello, World!"

    def test_json(self) -> None:
        response = self.fetch("/json")
        assert response.code == 200
        assert response.headers["Content-Type"] == "application/json"
        assert response.body == b'{"message":"Hello, World!"}'

    def test_mongo(self) -> None:
        response = self.fetch("/mongo?doc=big")
        assert response.code == 200
        article = json_decode(response.body)
        assert article["slug"] == "big"
        assert len(article["_id"]) == 24

    def test_agents(self) -> None:
        response = self.fetch("/agents")
        assert response.code == 200
        agents = json_decode(response.body)
        assert len(agents) == 50
        assert agents == sorted(agents, key=lambda agent: agent["number"])
        assert agents[0]["status"] == "offline"

    def test_file(self) -> None:
        response = self.fetch("/files/photo.jpg")
        assert response.code == 200
        assert response.headers["Content-Type"] == "image/jpeg"
        assert response.body == (settings.FILES_DIR / "photo.jpg").read_bytes()

    def test_missing_file(self) -> None:
        self.assert_problem(self.fetch("/files/missing.jpg"), 404, "Not Found")
        for name in ("..%2F..%2Fetc%2Fpasswd", "%2Fetc%2Fpasswd"):
            self.assert_problem(self.fetch(f"/files/{name}"), 403, "Forbidden")

    def test_gridfs(self) -> None:
        response = self.fetch("/gridfs/photo.jpg")
        assert response.code == 200
        assert response.headers["Content-Type"] == "image/jpeg"
        assert response.headers["Content-Length"] == str(len(response.body))
        assert response.body == (settings.FILES_DIR / "photo.jpg").read_bytes()

    def test_sleep(self) -> None:
        response = self.fetch("/sleep?ms=20")
        assert response.code == 200
        assert json_decode(response.body) == {"slept_ms": 20}
        assert response.request_time >= 0.02

    def test_bad_parameter(self) -> None:
        for target in ("/sleep?ms=soon", "/slow_api?calls=51", "/mongo?doc=medium"):
            self.assert_problem(self.fetch(target), 400, "Bad Request")

    def test_slow_api(self) -> None:
        with self.upstream((r"/", UpstreamHandler)):
            response = self.fetch("/slow_api?calls=2&ms=10", headers={"X-Request-Id": "a"})
        assert response.code == 200
        results = [{"call": 0, "name": "a"}, {"call": 1, "name": "a"}]
        assert json_decode(response.body) == {"results": results}

    def test_slow_api_fails(self) -> None:
        with self.upstream():  # knows no path
            self.assert_problem(self.fetch("/slow_api?calls=2&ms=10"), 502, "Bad Gateway")

    def test_unknown_path(self) -> None:
        self.assert_problem(self.fetch("/unknown"), 404, "Not Found")

    def test_mistake(self) -> None:
        with patch.object(views, "AGENTS", "SELECT * FROM unknown"):
            self.assert_problem(self.fetch("/agents"), 500, "Internal Server Error")


class DatabasesAwayTest(ServerTest):
    def get_app(self) -> Application:
        with patch.multiple(
            settings,
            MONGODB_URL="mongodb://127.0.0.1:1/refservers",
            DATABASE_URL="postgresql://127.0.0.1:1/refservers",
        ):
            return super().get_app()

    def test_databases_are_away(self) -> None:
        for target in ("/mongo", "/agents"):
            self.assert_problem(self.fetch(target), 503, "Service Unavailable")
