import json
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import treq
from bson import ObjectId
from gridfs import AsyncGridFSBucket, GridFSBucket
from pymongo import MongoClient
from treq.testing import RequestTraversalAgent, StringStubbingResource
from twisted.internet import reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.endpoints import serverFromString
from twisted.logger import LogEvent, LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import TestCase
from twisted.web.iweb import IResponse
from twisted.web.server import Site
from twisted.web.test.requesthelper import DummyRequest

from app import views
from app.databases import AGENTS, Clients, as_deferred
from app.files import send
from app.settings import settings
from app.views import Views


class ViewsTest(TestCase):
    """On a real port: treq.testing's client of resources does not wait for a database."""

    async def setUp(self) -> None:  # type: ignore[override]
        self.clients = Clients(reactor)
        await self.clients.open()
        self.addCleanup(self.clients.close)
        endpoint = serverFromString(reactor, "tcp:0:interface=127.0.0.1")
        port = await endpoint.listen(Site(Views(reactor, self.clients).app.resource()))
        self.addCleanup(port.stopListening)
        self.url = f"http://127.0.0.1:{port.getHost().port}"
        mongodb = MongoClient[dict[str, Any]](settings.MONGODB_URL)
        self.addCleanup(mongodb.close)
        self.database = mongodb.get_default_database("refservers")

    async def get(self, target: str, **options: Any) -> Any:
        return await treq.get(self.url + target, persistent=False, **options)

    async def post(self, data: bytes, **options: Any) -> Any:
        return await treq.post(f"{self.url}/notes", data=data, persistent=False, **options)

    def assert_is(self, response: IResponse, status: int, content_type: str) -> None:
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
        text = '"\\ud83d\\ude00é"'
        response = await self.post(f'{{"title":{text},"text":""}}'.encode())
        self.assert_is(response, 201, "application/json")
        [location] = response.headers.getRawHeaders("Location")
        note_id = location.removeprefix("/notes/")
        note = await response.text()
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
            await self.assert_problem(await self.post(text.encode()), 400, "Bad Request")
        self.assertEqual(self.database.notes.count_documents({}), notes)

    async def test_too_large_note(self) -> None:
        response = await self.post(b"a" * (2**20 + 1))
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
        for name in ("missing.jpg", "", "..%2Fagents.sql", "%2Fetc%2Fpasswd"):
            await self.assert_problem(await self.get(f"/files/{name}"), 404, "Not Found")

    async def test_gridfs(self) -> None:
        response = await self.get("/gridfs/photo.jpg")
        self.assert_is(response, 200, "image/jpeg")
        with GridFSBucket(self.database).open_download_stream_by_name("photo.jpg") as stored:
            self.assertEqual(await response.content(), stored.read())

    async def test_gridfs_without_metadata(self) -> None:
        bucket = GridFSBucket(self.database)
        self.addCleanup(bucket.delete, bucket.upload_from_stream("tests-bare", b"a" * 300_000))
        response = await self.get("/gridfs/tests-bare")
        self.assert_is(response, 200, "application/octet-stream")
        self.assertEqual(await response.content(), b"a" * 300_000)

    async def test_gridfs_waits_for_its_client(self) -> None:
        """A chunk is written when the one before has been read; the file is closed at the end."""
        bucket = GridFSBucket(self.database)
        self.addCleanup(bucket.delete, bucket.upload_from_stream("tests-slow", b"a" * 600_000))
        stored = AsyncGridFSBucket(self.clients.mongodb).open_download_stream_by_name("tests-slow")
        file = await as_deferred(stored)
        request = SlowClient()
        sent = Deferred.fromCoroutine(send(file, request))
        for written in (1, 2, 3):
            await request.wrote
            self.assertEqual(len(request.written), written)
            self.assertNoResult(sent)
            request.reads()
        await sent
        self.assertTrue(file.closed)

    async def test_gridfs_is_closed_when_the_client_leaves(self) -> None:
        stored = AsyncGridFSBucket(self.clients.mongodb).open_download_stream_by_name("photo.jpg")
        file = await as_deferred(stored)
        request = SlowClient()
        sent = Deferred.fromCoroutine(send(file, request))
        await request.wrote
        request.producer.stopProducing()
        sent.cancel()
        self.failureResultOf(sent)
        self.assertTrue(file.closed)
