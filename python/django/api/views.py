import asyncio
import atexit
import time
from collections.abc import Iterator
from threading import Thread
from typing import Any, BinaryIO

import uvloop
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe
from gridfs import GridFSBucket, GridOut
from gridfs.errors import NoFile
from pymongo import MongoClient

from api import upstream
from api.files import CHUNK, file_response, gridfs_response
from api.models import AgentFeature, agents_by_sql
from api.parameters import article_slug, calls_and_ms, sleep_ms
from api.responses import json_response, text_response

mongodb = MongoClient[dict[str, Any]](**settings.MONGODB).get_default_database("refservers")
articles = mongodb["articles"]
# lazy, as a generic view has it: each request evaluates a copy
AGENTS = AgentFeature.objects.with_status()
loop = uvloop.new_event_loop()
Thread(target=loop.run_forever, daemon=True).start()


@atexit.register
def close() -> None:
    asyncio.run_coroutine_threadsafe(upstream.close(), loop).result(1)


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    return text_response("Hello, World!")


@require_safe
def hello(request: HttpRequest) -> HttpResponse:
    return json_response({"message": "Hello, World!"})


@require_safe
def mongo(request: HttpRequest) -> HttpResponse:
    article = articles.find_one({"slug": article_slug(request)})
    if article is None:
        raise Http404
    return json_response(article)


@require_safe
def agents(request: HttpRequest) -> HttpResponse:
    return json_response(list(AGENTS.all()))


@require_safe
def agents_sql(request: HttpRequest) -> HttpResponse:
    return json_response(agents_by_sql())


@require_safe
def file(request: HttpRequest, name: str) -> HttpResponseBase:
    return file_response(request, name, read)


def read(file: BinaryIO, length: int) -> Iterator[bytes]:
    with file:
        while length:
            chunk = file.read(min(length, CHUNK))
            if not chunk:
                raise EOFError("the file has been cut while it is sent")
            length -= len(chunk)
            yield chunk


@require_safe
def gridfs(request: HttpRequest, name: str) -> HttpResponseBase:
    try:
        stored = GridFSBucket(mongodb).open_download_stream_by_name(name)
    except NoFile:
        raise Http404 from None
    return gridfs_response(request, stored, chunks(stored))


def chunks(stored: GridOut) -> Iterator[bytes]:
    left = stored.length
    # GridOut would read 16 MB at a time
    for chunk in mongodb.fs.chunks.find({"files_id": stored._id}, sort={"n": 1}, batch_size=2):
        left -= len(chunk["data"])
        yield chunk["data"]
    if left:
        raise EOFError("the file has been deleted while it is sent")


@require_safe
def sleep(request: HttpRequest) -> HttpResponse:
    ms = sleep_ms(request)
    time.sleep(ms / 1000)
    return json_response({"slept_ms": ms})


@require_safe
def slow_api(request: HttpRequest) -> HttpResponse:
    fetching = upstream.fetch_all(*calls_and_ms(request), request.headers.get("X-Request-Id"))
    results = asyncio.run_coroutine_threadsafe(fetching, loop).result()
    return json_response({"results": results})
