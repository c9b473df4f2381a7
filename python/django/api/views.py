import asyncio
import os.path
import time
from collections.abc import Iterator
from typing import Literal

from aiohttp import ClientError, ClientSession
from bson import ObjectId
from django.conf import settings
from django.core.files.storage import default_storage
from django.db.models import F, Value
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe
from gridfs import GridFSBucket, GridOut, NoFile
from pydantic import BaseModel, Field

from api.databases import mongodb
from api.models import AgentFeature
from api.problems import problem
from api.responses import json_response


class Doc(BaseModel):
    doc: Literal["small", "big"] = "small"


class Note(BaseModel):
    title: str = Field(min_length=1, max_length=200)
    text: str = Field(max_length=10_000)


class Sleep(BaseModel):
    ms: int = Field(1000, ge=0, le=30000)


class SlowApi(BaseModel):
    calls: int = Field(10, ge=1, le=50)
    ms: int = Field(1000, ge=0, le=5000)


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    return HttpResponse("Hello, World!", content_type="text/plain; charset=utf-8")


@require_safe
def hello(request: HttpRequest) -> HttpResponse:
    return json_response({"message": "Hello, World!"})


@require_safe
def mongo(request: HttpRequest) -> HttpResponse:
    query = Doc.model_validate(request.GET.dict())
    if article := mongodb.articles.find_one({"slug": query.doc}):
        return json_response(article)
    raise Http404


@require_POST
def create_note(request: HttpRequest) -> HttpResponse:
    if request.content_type != "application/json":
        return problem(request, status=415)
    note = Note.model_validate_json(request.body)
    document = {"_id": ObjectId(), **note.model_dump()}
    mongodb.notes.insert_one(document)
    location = reverse("note", args=[document["_id"]])
    return json_response(document, status=201, headers={"Location": location})


@require_safe
def read_note(request: HttpRequest, note_id: str) -> HttpResponse:
    if ObjectId.is_valid(note_id) and (note := mongodb.notes.find_one(ObjectId(note_id))):
        return json_response(note)
    raise Http404


@require_safe
def agents(request: HttpRequest) -> HttpResponse:
    rows = AgentFeature.objects.order_by("number").values(
        "number",
        extension=F("agentloginstatus__extension"),
        context=F("agentloginstatus__context"),
        state_interface=F("agentloginstatus__state_interface"),
        status=Value("offline"),
        extension_status=Value("-1"),
        paused=Value("0"),
    )
    return json_response(list(rows))


@require_safe
def files(request: HttpRequest, name: str) -> FileResponse:
    if os.path.isfile(default_storage.path(name)):
        return FileResponse(default_storage.open(name))
    raise Http404


@require_safe
def gridfs(request: HttpRequest, name: str) -> StreamingHttpResponse:
    try:
        file = GridFSBucket(mongodb).open_download_stream_by_name(name)
    except NoFile as error:
        raise Http404 from error
    content_type = (file.metadata or {}).get("contentType", "application/octet-stream")
    content = chunks(file, first=file.readchunk())  # a 500, if that is missing
    headers = {"Content-Length": str(file.length)}
    return StreamingHttpResponse(content, content_type=content_type, headers=headers)


def chunks(file: GridOut, first: bytes) -> Iterator[bytes]:
    with file:
        yield first
        while chunk := file.readchunk():
            yield chunk


@require_safe
def sleep(request: HttpRequest) -> HttpResponse:
    query = Sleep.model_validate(request.GET.dict())
    time.sleep(query.ms / 1000)
    return json_response({"slept_ms": query.ms})


@require_safe
async def slow_api(request: HttpRequest) -> HttpResponse:
    query = SlowApi.model_validate(request.GET.dict())
    request_id = request.headers.get("X-Request-Id")
    headers = {"X-Request-Id": request_id} if request_id else None
    try:
        async with (
            asyncio.timeout(query.ms / 1000 + 5),
            ClientSession(headers=headers) as session,
            asyncio.TaskGroup() as group,
        ):
            calls = [group.create_task(call(session, n, query.ms)) for n in range(query.calls)]
    except TimeoutError as error:
        return problem(request, error, status=504)
    except ExceptionGroup as errors:
        if errors.split((ClientError, ValueError))[1]:
            raise  # a fault of our own
        return problem(request, errors.exceptions[0], status=502)
    return json_response({"results": [call.result() for call in calls]})


async def call(session: ClientSession, number: int, ms: int) -> dict[str, object]:
    params = {"call": number, "ms": ms}
    async with session.get(settings.SLOW_API_URL, params=params, allow_redirects=False) as response:
        if response.status == 200 and isinstance(result := await response.json(), dict):
            return result
        raise ValueError(f"{response.status}, no JSON object")
