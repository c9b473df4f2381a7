import asyncio
import ssl
from contextlib import suppress

import httpx2
from django.conf import settings
from django.core.exceptions import BadRequest, SuspiciousFileOperation
from django.core.files.storage import default_storage
from django.db import connection
from django.db.models import F, Value
from django.http import FileResponse, Http404, HttpResponse
from gridfs import GridFSBucket, NoFile

from api.databases import AGENTS, mongodb
from api.models import AgentFeature
from api.problems import UpstreamError, problem
from api.responses import json_response

# It takes long to load, and clients can share it.
TLS = ssl.create_default_context()


def index(request):
    return HttpResponse("Hello, World!", content_type="text/plain; charset=utf-8")


def hello(request):
    return json_response({"message": "Hello, World!"})


def mongo(request):
    doc = request.GET.get("doc", "small")
    if doc not in ("small", "big"):
        raise BadRequest("doc must be small or big")
    if article := mongodb.articles.find_one({"slug": doc}):
        return json_response(article | {"_id": str(article["_id"])})
    raise Http404


def agents(request):
    rows = AgentFeature.objects.order_by("number").values(
        "number",
        extension=F("login_status__extension"),
        context=F("login_status__context"),
        state_interface=F("login_status__state_interface"),
        status=Value("offline"),
        extension_status=Value("-1"),
        paused=Value("0"),
    )
    return json_response(list(rows))


def agents_sql(request):
    with connection.cursor() as cursor:
        cursor.execute(AGENTS)
        columns = [column.name for column in cursor.description]
        return json_response([dict(zip(columns, row, strict=True)) for row in cursor])


def files(request, name):
    with suppress(OSError, ValueError, SuspiciousFileOperation):
        return FileResponse(default_storage.open(name))
    raise Http404


def gridfs(request, name):
    with suppress(NoFile):
        file = GridFSBucket(mongodb).open_download_stream_by_name(name)
        return FileResponse(file, content_type=file.metadata["contentType"])
    raise Http404


async def sleep(request):
    ms = integer(request, "ms", default=1000, low=0, high=30000)
    await asyncio.sleep(ms / 1000)
    return json_response({"slept_ms": ms})


async def slow_api(request):
    calls = integer(request, "calls", default=10, low=1, high=50)
    ms = integer(request, "ms", default=1000, low=0, high=5000)
    request_id = request.headers.get("X-Request-Id")
    headers = {"X-Request-Id": request_id} if request_id else None
    client = httpx2.AsyncClient(headers=headers, timeout=None, verify=TLS)
    try:
        async with asyncio.timeout(ms / 1000 + 5), client, asyncio.TaskGroup() as group:
            tasks = [group.create_task(call(client, number, ms)) for number in range(calls)]
    except TimeoutError:
        return problem(504)
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return json_response({"results": [task.result() for task in tasks]})


async def call(client, number, ms):
    with suppress(httpx2.HTTPError, ValueError):
        response = await client.get(settings.SLOW_API_URL, params={"call": number, "ms": ms})
        if response.status_code == 200 and isinstance(result := response.json(), dict):
            return result
    raise UpstreamError


def integer(request, name, *, default, low, high):
    with suppress(ValueError):
        value = int(request.GET.get(name, default))
        if low <= value <= high:
            return value
    raise BadRequest(f"{name} must be an integer from {low} to {high}")
