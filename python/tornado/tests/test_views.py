import asyncio
import json
import logging
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from bson import ObjectId
from gridfs import GridFSBucket, GridOut
from pymongo import MongoClient
from tornado.httpclient import HTTPResponse
from tornado.httpserver import HTTPServer
from tornado.httputil import url_concat
from tornado.testing import AsyncHTTPTestCase, bind_unused_port
from tornado.web import Application, HTTPError, RequestHandler

from app import views
from app.databases import connect
from app.main import make_app
from app.problems import BaseHandler
from app.settings import settings

JSON = {"Content-Type": "application/json; charset=utf-8"}


class FaultyHandler(BaseHandler):
    """Errors as a developer writes them, and as Tornado itself sends them."""

    def get(self, fault: str) -> None:
        if fault == "sent":
            self.send_error(400)
            return
        if fault == "unknown":
            raise HTTPError(499, reason="Of Our Own")
        raise HTTPError(400, "for the log alone" if fault == "logged" else None)


class ServerTest(AsyncHTTPTestCase):
    @pytest.fixture(autouse=True)
    def _caplog(self, caplog: pytest.LogCaptureFixture) -> None:
        self.caplog = caplog

    def get_app(self) -> Application:
        self.stack = AsyncExitStack()
        self.connections: dict[str, Any] = self.io_loop.run_sync(
            lambda: self.stack.enter_async_context(connect())
        )
        self.client = self.stack.enter_context(MongoClient[dict[str, Any]](settings.MONGODB_URL))
        self.database = self.client.get_default_database("refservers")
        app = make_app(self.connections)
        app.add_handlers(r".*", [(r"/faulty/(.*)", FaultyHandler)])
        return app

    def tearDown(self) -> None:
        self.io_loop.run_sync(self.stack.aclose)
        super().tearDown()

    def assert_problem(self, response: HTTPResponse, status: int, title: str) -> None:
        assert response.code == status
        assert response.headers["Content-Type"] == "application/problem+json"
        problem = json.loads(response.body)
        errors = problem.pop("errors", []) if status == 400 else []
        assert list(problem.items()) == [
            ("type", "about:blank"),
            ("title", title),
            ("status", status),
        ]
        assert all({"type", "loc", "msg"} <= error.keys() for error in errors)


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
        article = json.loads(response.body)
        assert article["slug"] == "big"
        assert len(article["_id"]) == 24

    def test_agents(self) -> None:
        response = self.fetch("/agents")
        assert response.code == 200
        agents = json.loads(response.body)
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
        for name in ("", "..%2Fagents.sql", "%2Fetc%2Fpasswd"):
            self.assert_problem(self.fetch(f"/files/{name}"), 403, "Forbidden")

    def test_sleep(self) -> None:
        start = time.monotonic()
        response = self.fetch("/sleep?ms=50")
        assert time.monotonic() - start >= 0.05
        assert response.code == 200
        assert json.loads(response.body) == {"slept_ms": 50}

    def test_bad_parameter(self) -> None:
        for target in (
            "/sleep?ms=soon",
            "/sleep?ms=30001",
            "/sleep?ms=5%00",
            "/slow_api?calls=51",
            "/mongo?doc=medium",
            "/mongo?doc=%FF",
        ):
            self.assert_problem(self.fetch(target), 400, "Bad Request")

    def test_unknown_path(self) -> None:
        self.assert_problem(self.fetch("/unknown"), 404, "Not Found")

    def test_method(self) -> None:
        response = self.fetch("/json", method="POST", body="")
        self.assert_problem(response, 405, "Method Not Allowed")

    def test_errors_of_every_kind(self) -> None:
        for fault in ("sent", "raised", "logged"):
            self.assert_problem(self.fetch(f"/faulty/{fault}"), 400, "Bad Request")
        self.assert_problem(self.fetch("/faulty/unknown"), 499, "Unknown")

    def test_mistake(self) -> None:
        with patch.object(views, "AGENTS", "SELECT * FROM unknown"):
            self.assert_problem(self.fetch("/agents"), 500, "Internal Server Error")
        assert "UndefinedTableError" in self.caplog.text

    def test_missing_file_of_our_own(self) -> None:
        with patch.object(views, "fetch", lambda *_: open("/missing")):
            self.assert_problem(self.fetch("/agents"), 500, "Internal Server Error")


class NotesTest(ServerTest):
    def post(self, body: str, headers: dict[str, str] = JSON) -> HTTPResponse:
        return self.fetch("/notes", method="POST", body=body, headers=headers)

    def test_note(self) -> None:
        async def body(write: Any) -> None:  # chunked
            await write(b'{"title":"\\ud83d\\ude00')
            await write('é","text":""}'.encode())

        response = self.fetch("/notes", method="POST", body_producer=body, headers=JSON)
        assert response.code == 201
        note_id = response.headers["Location"].removeprefix("/notes/")
        assert self.database.notes.find_one_and_delete({"_id": ObjectId(note_id)}) == {
            "_id": ObjectId(note_id),
            "title": "😀é",
            "text": "",
        }
        assert response.body.decode() == f'{{"_id":"{note_id}","title":"😀é","text":""}}'

    def test_read_note(self) -> None:
        created = self.post(json.dumps({"title": "a" * 200, "text": "é" * 10_000}))
        response = self.fetch(created.headers["Location"])
        assert response.code == 200
        assert response.headers["Content-Type"] == "application/json"
        assert response.body == created.body
        self.database.notes.delete_one({"_id": ObjectId(json.loads(response.body)["_id"])})

    def test_unknown_note(self) -> None:
        for note_id in ("0" * 24, "unknown"):
            self.assert_problem(self.fetch(f"/notes/{note_id}"), 404, "Not Found")

    def test_refused_note(self) -> None:
        notes = self.database.notes.count_documents({})
        for body in (
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
        ):
            self.assert_problem(self.post(body), 400, "Bad Request")
        as_text = self.post('{"title":"a","text":""}', {"Content-Type": "text/plain"})
        self.assert_problem(as_text, 415, "Unsupported Media Type")
        assert self.database.notes.count_documents({}) == notes


class GridFSTest(ServerTest):
    def setUp(self) -> None:
        super().setUp()
        bucket = GridFSBucket(self.database, chunk_size_bytes=100_000)
        file_id = bucket.upload_from_stream("tests/large", b"a" * 8_000_000)  # without metadata
        self.stack.callback(bucket.delete, file_id)

    def test_gridfs(self) -> None:
        response = self.fetch("/gridfs/photo.jpg")
        assert response.code == 200
        assert response.headers["Content-Type"] == "image/jpeg"
        with GridFSBucket(self.database).open_download_stream_by_name("photo.jpg") as stored:
            assert response.body == stored.read()

    def test_gridfs_without_metadata(self) -> None:
        response = self.fetch("/gridfs/tests%2Flarge")
        assert response.code == 200
        assert response.headers["Content-Type"] == "application/octet-stream"
        assert response.body == b"a" * 8_000_000

    def test_gridfs_file_is_closed_when_the_client_leaves(self) -> None:
        async def leave() -> None:
            closed = asyncio.Event()
            loop = asyncio.get_running_loop()
            with patch.object(GridOut, "close", lambda _: loop.call_soon_threadsafe(closed.set)):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.get_http_port())
                writer.write(b"GET /gridfs/tests%2Flarge HTTP/1.1\r\nHost: a\r\n\r\n")
                await reader.read(1)
                writer.transport.abort()
                await closed.wait()

        self.io_loop.run_sync(leave, timeout=10)

    def test_missing_gridfs(self) -> None:
        self.assert_problem(self.fetch("/gridfs/missing.jpg"), 404, "Not Found")


class UpstreamHandler(RequestHandler):
    def get(self) -> None:
        name = self.request.headers["X-Request-Id"]
        self.write({"call": int(self.get_argument("call")), "name": name})


class AnswerHandler(RequestHandler):
    """Any answer but a 200 with an object."""

    def get(self) -> None:
        self.set_status(int(self.get_argument("status")))
        self.set_header("Location", "/?status=200")
        self.write(self.get_argument("body", "{}"))


class SlowApiTest(ServerTest):
    @contextmanager
    def upstream(self, handler: type[RequestHandler], **query: str) -> Iterator[None]:
        sock, port = bind_unused_port()
        server = HTTPServer(Application([(r"/", handler)]))
        server.add_sockets([sock])
        url = url_concat(f"http://127.0.0.1:{port}/", query)
        with patch.object(settings, "SLOW_API_URL", url):
            yield
        server.stop()
        self.io_loop.run_sync(server.close_all_connections)

    def test_slow_api(self) -> None:
        with self.upstream(UpstreamHandler):
            response = self.fetch("/slow_api?calls=2&ms=10", headers={"X-Request-Id": "a"})
        assert response.code == 200
        results = [{"call": 0, "name": "a"}, {"call": 1, "name": "a"}]
        assert json.loads(response.body) == {"results": results}

    def test_slow_api_fails(self) -> None:
        for query in (
            {"status": "404"},
            {"status": "302"},
            {"status": "201"},
            {"status": "200", "body": "[]"},
            {"status": "200", "body": "{"},
        ):
            self.caplog.clear()
            with self.upstream(AnswerHandler, **query):
                response = self.fetch("/slow_api?calls=5&ms=10")
            self.assert_problem(response, 502, "Bad Gateway")
            records = [one for one in self.caplog.records if one.name == "tornado.general"]
            assert [record.getMessage().split(":")[0] for record in records] == [
                "502 GET /slow_api?calls=5&ms=10 (127.0.0.1)"
            ]

    def test_slow_api_has_a_mistake(self) -> None:
        with patch.object(views, "settings", None):
            response = self.fetch("/slow_api?calls=2")
        self.assert_problem(response, 500, "Internal Server Error")


class MongoDBAwayTest(ServerTest):
    def get_app(self) -> Application:
        with patch.object(settings, "MONGODB_URL", "mongodb://127.0.0.1:1/refservers"):
            return super().get_app()

    def test_mongodb_is_away(self) -> None:
        async def ask() -> list[HTTPResponse]:
            targets = ("/mongo", f"/notes/{ObjectId()}", "/gridfs/a%0Ab")
            fetch = self.http_client.fetch
            return await asyncio.gather(
                *(fetch(self.get_url(target), raise_error=False) for target in targets)
            )

        for response in self.io_loop.run_sync(ask, timeout=15):
            self.assert_problem(response, 503, "Service Unavailable")
        warnings = [one for one in self.caplog.records if one.levelno == logging.WARNING]
        assert len(warnings) == 3
        assert not any("\n" in record.getMessage() for record in warnings)
