import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import asyncpg
import treq
from bson import ObjectId
from gridfs import AsyncGridFSBucket, GridFSBucket
from pymongo import AsyncMongoClient, MongoClient
from treq.testing import StringStubbingResource
from twisted.internet import reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.endpoints import serverFromString
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import TestCase
from twisted.web.client import HTTPConnectionPool
from twisted.web.http_headers import Headers
from twisted.web.resource import IResource
from twisted.web.server import Site

from app import views
from app.databases import as_deferred, mongodb, postgresql
from app.settings import settings


@contextmanager
def logged_errors() -> Iterator[list[str]]:
    """The entries that are logged meanwhile."""
    entries: list[str] = []
    with capturedLogs() as events:
        yield entries
    entries.extend(formatEvent(one) for one in events if one["log_level"] >= LogLevel.error)


class SlowClient:
    """A request whose client reads when it is told to."""

    channel: object = object()

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.wrote: Deferred[None] = Deferred()

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        self.producer = producer

    def unregisterProducer(self) -> None:
        self.producer = None

    def write(self, chunk: bytes) -> None:
        self.written.append(chunk)
        self.producer.pauseProducing()
        wrote, self.wrote = self.wrote, Deferred()
        wrote.callback(None)


class ViewsTest(TestCase):
    """Over TCP: treq.testing's client of resources does not wait for databases."""

    async def setUp(self) -> None:  # type: ignore[override]
        await as_deferred(postgresql)
        self.patch(views, "pool", HTTPConnectionPool(reactor, persistent=False))
        self.url = await self.serve(views.app.resource())
        client = MongoClient[dict[str, Any]](settings.MONGODB_URL)
        self.addCleanup(client.close)
        self.database = client.get_default_database("refservers")

    async def serve(self, resource: IResource) -> str:
        """Serve on a free port."""
        port = await serverFromString(reactor, "tcp:0:interface=127.0.0.1").listen(Site(resource))
        self.addCleanup(port.stopListening)
        return f"http://127.0.0.1:{port.getHost().port}"

    async def get(self, target: str, **options: Any) -> Any:
        return await treq.get(self.url + target, persistent=False, **options)

    async def post(
        self, target: str, data: bytes = b"", media_type: str = "application/json; charset=utf-8"
    ) -> Any:
        headers = Headers({"Content-Type": [media_type]})
        return await treq.post(self.url + target, data=data, headers=headers, persistent=False)

    def assert_is(self, response: Any, status: int, content_type: str) -> None:
        self.assertEqual(response.code, status)
        self.assertEqual(response.headers.getRawHeaders("Content-Type"), [content_type])

    async def assert_problem(self, response: Any, status: int, title: str) -> None:
        self.assert_is(response, status, "application/problem+json")
        problem = await response.json()
        errors = problem.pop("errors", []) if status == 400 else []
        expected = {"type": "about:blank", "title": title, "status": status}
        self.assertEqual(list(problem.items()), list(expected.items()))
        for error in errors:
            self.assertLessEqual({"type", "loc", "msg"}, error.keys())

    async def test_index(self) -> None:
        response = await self.get("/index")
        self.assert_is(response, 200, "text/plain; charset=utf-8")
        self.assertEqual(await response.text(), "Hello, World!")

    async def test_json(self) -> None:
        response = await self.get("/json")
        self.assert_is(response, 200, "application/json")
        self.assertEqual(await response.text(), '{"message":"Hello, World!"}')

    async def test_mongo(self) -> None:
        response = await self.get("/mongo?doc=big")
        self.assert_is(response, 200, "application/json")
        article = await response.json()
        self.assertEqual(article["slug"], "big")
        self.assertEqual(len(article["_id"]), 24)

    async def test_note(self) -> None:
        response = await self.post("/notes", '{"title":"\\ud83d\\ude00é","text":""}'.encode())
        self.assert_is(response, 201, "application/json")
        [location] = response.headers.getRawHeaders("Location")
        note, note_id = await response.text(), location.removeprefix("/notes/")
        self.assertEqual(note, f'{{"_id":"{note_id}","title":"😀é","text":""}}')
        response = await self.get(location)
        self.assert_is(response, 200, "application/json")
        self.assertEqual(await response.text(), note)
        stored = self.database.notes.find_one_and_delete({"_id": ObjectId(note_id)})
        self.assertEqual(stored, {"_id": ObjectId(note_id), "title": "😀é", "text": ""})

    async def test_unknown_note(self) -> None:
        for note_id in ("0" * 24, "unknown"):
            await self.assert_problem(await self.get(f"/notes/{note_id}"), 404, "Not Found")

    async def test_refused_note(self) -> None:
        notes = self.database.notes.count_documents({})
        for text in (
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
            response = await self.post("/notes", text.encode())
            await self.assert_problem(response, 400, "Bad Request")
        response = await self.post("/notes", b'{"title":"a","text":""}', "text/plain")
        await self.assert_problem(response, 415, "Unsupported Media Type")
        self.assertEqual(self.database.notes.count_documents({}), notes)

    async def test_too_large_note(self) -> None:
        response = await self.post("/notes", b"a" * (2**20 + 1))
        await self.assert_problem(response, 413, "Request Entity Too Large")

    async def test_agents(self) -> None:
        response = await self.get("/agents")
        self.assert_is(response, 200, "application/json")
        agents = await response.json()
        self.assertEqual(len(agents), 50)
        self.assertEqual(agents, sorted(agents, key=lambda agent: agent["number"]))
        self.assertEqual(agents[0]["status"], "offline")

    async def test_file(self) -> None:
        response = await self.get("/files/photo.jpg")
        self.assert_is(response, 200, "image/jpeg")
        photo = (settings.FILES_DIR / "photo.jpg").read_bytes()
        self.assertEqual(await response.content(), photo)

    async def test_missing_file(self) -> None:
        for name in ("missing.jpg", "", "..%2Fagents.sql", "%2Fetc%2Fpasswd", "a/index"):
            await self.assert_problem(await self.get(f"/files/{name}"), 404, "Not Found")

    async def test_gridfs(self) -> None:
        response = await self.get("/gridfs/photo.jpg")
        self.assert_is(response, 200, "image/jpeg")
        with GridFSBucket(self.database).open_download_stream_by_name("photo.jpg") as stored:
            self.assertEqual(await response.content(), stored.read())

    def store(self, size: int) -> str:
        """Store a GridFS file without metadata until the end of the test, and return its name."""
        bucket = GridFSBucket(self.database)
        name = f"tests-{uuid4()}"
        self.addCleanup(bucket.delete, bucket.upload_from_stream(name, b"a" * size))
        return name

    async def test_gridfs_without_metadata(self) -> None:
        name = self.store(300_000)
        response = await self.get(f"/gridfs/{name}")
        self.assert_is(response, 200, "application/octet-stream")
        self.assertEqual(await response.content(), b"a" * 300_000)

    async def test_gridfs_waits_for_its_client(self) -> None:
        name = self.store(600_000)
        bucket = AsyncGridFSBucket(mongodb)
        file = await as_deferred(bucket.open_download_stream_by_name(name))
        request: Any = SlowClient()
        sent = as_deferred(views.send(file, request))
        for written in (1, 2, 3):
            await request.wrote
            self.assertEqual(len(request.written), written)
            self.assertNoResult(sent)
            request.producer.resumeProducing()
        await sent
        self.assertEqual(b"".join(request.written), b"a" * 600_000)
        self.assertIsNone(request.producer)
        self.assertTrue(file.closed)

    async def test_gridfs_file_is_closed_when_the_client_leaves(self) -> None:
        bucket = AsyncGridFSBucket(mongodb)
        file = await as_deferred(bucket.open_download_stream_by_name("photo.jpg"))
        request: Any = SlowClient()
        sent = as_deferred(views.send(file, request))
        await request.wrote
        request.channel = None
        sent.cancel()
        await sent.addErrback(lambda _: None)
        self.assertTrue(file.closed)

    async def test_missing_gridfs(self) -> None:
        await self.assert_problem(await self.get("/gridfs/missing.jpg"), 404, "Not Found")

    async def test_sleep(self) -> None:
        start = time.monotonic()
        response = await self.get("/sleep?ms=50")
        self.assertGreaterEqual(time.monotonic() - start, 0.05)
        self.assert_is(response, 200, "application/json")
        self.assertEqual(await response.json(), {"slept_ms": 50})

    async def test_bad_parameter(self) -> None:
        for target in ("/sleep?ms=soon", "/sleep?ms=30001", "/slow_api?calls=51", "/mongo?doc=a"):
            await self.assert_problem(await self.get(target), 400, "Bad Request")

    async def serve_upstream(self, status: int, headers: dict[str, str], body: bytes) -> None:
        """Let each call of the upstream get this answer."""
        upstream = StringStubbingResource(lambda *request: (status, headers, body))
        self.patch(settings, "SLOW_API_URL", await self.serve(upstream))

    async def test_slow_api(self) -> None:
        def upstream(
            method: bytes, url: str, params: Any, headers: Any, data: bytes
        ) -> tuple[int, dict[str, str], bytes]:
            answer = {"call": int(params[b"call"][0]), "name": headers[b"X-Request-Id"][0].decode()}
            return 200, {}, json.dumps(answer).encode()

        self.patch(settings, "SLOW_API_URL", await self.serve(StringStubbingResource(upstream)))
        response = await self.get("/slow_api?calls=2&ms=10", headers={"X-Request-Id": "a"})
        self.assert_is(response, 200, "application/json")
        results = [{"call": 0, "name": "a"}, {"call": 1, "name": "a"}]
        self.assertEqual(await response.json(), {"results": results})

    async def test_slow_api_fails(self) -> None:
        for status, headers, body in (
            (404, {}, b"{}"),
            (200, {}, b"[]"),
            (200, {}, b"{"),
            (302, {"Location": "/elsewhere"}, b"{}"),
        ):
            await self.serve_upstream(status, headers, body)
            with logged_errors() as entries:
                response = await self.get("/slow_api?calls=5&ms=10")
                await self.assert_problem(response, 502, "Bad Gateway")
            self.assertEqual(len(entries), 1, entries)
            self.assertTrue(entries[0].startswith("b'/slow_api': "), entries)

    async def test_slow_api_has_no_address(self) -> None:
        self.patch(settings, "SLOW_API_URL", "http://nothing.invalid/")
        await self.assert_problem(await self.get("/slow_api?calls=1&ms=0"), 502, "Bad Gateway")

    async def test_slow_api_has_a_mistake(self) -> None:
        self.patch(views, "call", None)
        response = await self.get("/slow_api?calls=2")
        await self.assert_problem(response, 500, "Internal Server Error")
        self.assertEqual(len(self.flushLoggedErrors(TypeError)), 1)

    async def test_unknown_path(self) -> None:
        await self.assert_problem(await self.get("/unknown"), 404, "Not Found")

    async def test_method(self) -> None:
        response = await self.post("/json")
        await self.assert_problem(response, 405, "Method Not Allowed")
        self.assertIn("GET", response.headers.getRawHeaders("Allow")[0])

    async def test_mistake(self) -> None:
        self.patch(views, "AGENTS", "SELECT * FROM unknown")
        await self.assert_problem(await self.get("/agents"), 500, "Internal Server Error")
        self.assertEqual(len(self.flushLoggedErrors(asyncpg.UndefinedTableError)), 1)

    async def test_missing_file_of_our_own(self) -> None:
        self.patch(views, "query", lambda request: open("/missing"))
        await self.assert_problem(await self.get("/sleep"), 500, "Internal Server Error")
        self.assertEqual(len(self.flushLoggedErrors(FileNotFoundError)), 1)

    async def test_mongodb_is_away(self) -> None:
        away = AsyncMongoClient[dict[str, Any]]("mongodb://127.0.0.1:1", timeoutMS=300)
        self.patch(views, "mongodb", away.refservers)
        targets = ["/mongo", f"/notes/{ObjectId()}", "/gridfs/a%0Ab"]
        with logged_errors() as entries:
            for response in await gatherResults(
                Deferred.fromCoroutine(self.get(target)) for target in targets
            ):
                await self.assert_problem(response, 503, "Service Unavailable")
        await as_deferred(away.close())
        self.assertEqual(len(entries), 3, entries)
        self.assertFalse(any("\n" in entry for entry in entries))  # though a path has one
