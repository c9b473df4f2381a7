import logging
from collections.abc import Iterator
from itertools import chain
from typing import Any, Literal

import eventlet
import orjson
from bson import ObjectId
from gridfs import GridFSBucket, GridOut, NoFile
from pydantic import BaseModel, Field
from urllib3.exceptions import HTTPError
from werkzeug.exceptions import BadGateway, GatewayTimeout, NotFound, ServiceUnavailable
from werkzeug.utils import send_from_directory
from werkzeug.wrappers import Request, Response

from app.databases import AGENTS, mongodb, postgresql, upstream
from app.settings import settings

logger = logging.getLogger(__name__)


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


def json_response(data: object, **options: Any) -> Response:
    body = orjson.dumps(data, default=str)  # str writes an ObjectId
    return Response(body, mimetype="application/json", **options)


def index(request: Request) -> Response:
    return Response("Hello, World!")


def hello(request: Request) -> Response:
    return json_response({"message": "Hello, World!"})


def mongo(request: Request) -> Response:
    query = Doc.model_validate(request.args.to_dict())
    if article := mongodb.articles.find_one({"slug": query.doc}):
        return json_response(article)
    raise NotFound


def create_note(request: Request) -> Response:
    note = Note.model_validate(request.json)
    document = {"_id": ObjectId()} | note.model_dump()
    mongodb.notes.insert_one(document)
    headers = {"Location": f"/notes/{document['_id']}"}
    return json_response(document, status=201, headers=headers)


def read_note(request: Request, note_id: str) -> Response:
    if ObjectId.is_valid(note_id) and (note := mongodb.notes.find_one(ObjectId(note_id))):
        return json_response(note)
    raise NotFound


def agents(request: Request) -> Response:
    late = ServiceUnavailable("PostgreSQL is late")
    with eventlet.Timeout(5, late) as timeout, postgresql.item() as connection:
        with connection.cursor() as cursor:
            cursor.execute(AGENTS)
            rows = cursor.fetchall()
        timeout.cancel()  # nothing interrupts the return of the connection
    return json_response(rows)


def files(request: Request, name: str) -> Response:
    return send_from_directory(settings.FILES_DIR, name, request.environ)


def gridfs(request: Request, name: str) -> Response:
    try:
        file = GridFSBucket(mongodb).open_download_stream_by_name(name)
    except NoFile as error:
        raise NotFound from error
    content_type = (file.metadata or {}).get("contentType", "application/octet-stream")
    headers = {"Content-Type": content_type, "Content-Length": str(file.length)}
    first = file.readchunk()  # before the head is sent, so that a missing one is a 500
    response = Response(chain([first], chunks(file)), headers=headers)
    response.call_on_close(file.close)
    return response


def chunks(file: GridOut) -> Iterator[bytes]:
    try:
        yield from iter(file.readchunk, b"")
    except Exception as error:  # which Eventlet logs only beside an access log
        logger.error("%r: %s: %r", file.filename, type(error).__name__, str(error))
        raise


def sleep(request: Request) -> Response:
    query = Sleep.model_validate(request.args.to_dict())
    eventlet.sleep(query.ms / 1000)
    return json_response({"slept_ms": query.ms})


def slow_api(request: Request) -> Response:
    query = SlowApi.model_validate(request.args.to_dict())
    calls = [eventlet.spawn(call, request, number, query.ms) for number in range(query.calls)]
    ended = eventlet.Queue()
    for one in calls:
        one.link(ended.put)
    try:
        with eventlet.Timeout(query.ms / 1000 + 5, GatewayTimeout):
            for _ in calls:
                if isinstance(error := ended.get().wait(), Exception):
                    raise BadGateway from error
    finally:
        for one in calls:
            one.kill()
    return json_response({"results": [one.wait() for one in calls]})


def call(request: Request, number: int, ms: int) -> dict[str, object] | Exception:
    """Return what the upstream answers, or why there is no answer."""
    request_id = request.headers.get("X-Request-Id")
    headers = {"X-Request-Id": request_id} if request_id else None
    url, fields = str(settings.SLOW_API_URL), {"call": str(number), "ms": str(ms)}
    try:
        response = upstream.request("GET", url, fields=fields, headers=headers, retries=False)
        if response.status == 200 and isinstance(answer := orjson.loads(response.data), dict):
            return answer
        return ValueError(f"{response.status}, no JSON object")
    except (HTTPError, ValueError) as error:
        return error
