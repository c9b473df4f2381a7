import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import chain
from typing import Any, Literal

import urllib3
from bson import ObjectId
from flask import Blueprint, Response, abort, current_app, request, send_from_directory, url_for
from gridfs import GridFSBucket, NoFile
from pydantic import BaseModel, Field
from werkzeug.exceptions import BadGateway, GatewayTimeout

from app.databases import AGENTS, mongodb, postgresql

CALLS = 10_000  # of the upstream at once: calls never queue

bp = Blueprint("views", __name__)
executor = ThreadPoolExecutor(CALLS)
upstream = urllib3.PoolManager(maxsize=CALLS, retries=False)


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


@bp.get("/index")
def index() -> Response:
    return Response("Hello, World!", mimetype="text/plain")


@bp.get("/json")
def hello() -> dict[str, str]:
    return {"message": "Hello, World!"}


@bp.get("/mongo")
def mongo() -> dict[str, Any]:
    query = Doc.model_validate(request.args.to_dict())
    if article := mongodb().articles.find_one({"slug": query.doc}):
        return article | {"_id": str(article["_id"])}
    abort(404)


@bp.post("/notes")
def create_note() -> tuple[dict[str, Any], int, dict[str, str]]:
    note = Note.model_validate(request.json).model_dump()
    note_id = str(mongodb().notes.insert_one({**note}).inserted_id)
    return {"_id": note_id} | note, 201, {"Location": url_for(".read_note", note_id=note_id)}


@bp.get("/notes/<note_id>")
def read_note(note_id: str) -> dict[str, Any]:
    if ObjectId.is_valid(note_id) and (note := mongodb().notes.find_one(ObjectId(note_id))):
        return note | {"_id": str(note["_id"])}
    abort(404)


@bp.get("/agents")
def agents() -> list[dict[str, Any]]:
    with postgresql() as connection:
        return connection.execute(AGENTS).fetchall()


@bp.get("/files/<name>")
def files(name: str) -> Response:
    return send_from_directory(current_app.config["FILES_DIR"].absolute(), name)


@bp.get("/gridfs/<name>")
def gridfs(name: str) -> Response:
    try:
        file = GridFSBucket(mongodb()).open_download_stream_by_name(name)
    except NoFile:
        abort(404)
    content_type = (file.metadata or {}).get("contentType", "application/octet-stream")
    headers = {"Content-Type": content_type, "Content-Length": str(file.length)}
    first = file.readchunk()  # before the head is sent, so that a missing one is a 500
    response = Response(chain([first], iter(file.readchunk, b"")), headers=headers)
    response.call_on_close(file.close)
    return response


@bp.get("/sleep")
def sleep() -> dict[str, int]:
    query = Sleep.model_validate(request.args.to_dict())
    time.sleep(query.ms / 1000)
    return {"slept_ms": query.ms}


@bp.get("/slow_api")
def slow_api() -> dict[str, list[dict[str, Any]]]:
    query = SlowApi.model_validate(request.args.to_dict())
    url = str(current_app.config["SLOW_API_URL"])
    request_id = request.headers.get("X-Request-Id")
    headers = {"X-Request-Id": request_id} if request_id else None
    timeout = query.ms / 1000 + 5

    def call(number: int) -> dict[str, Any]:
        fields = {"call": str(number), "ms": str(query.ms)}
        response = upstream.request("GET", url, fields=fields, headers=headers, timeout=timeout + 1)
        if response.status == 200 and isinstance(result := response.json(), dict):
            return result
        raise ValueError(f"{response.status}, no JSON object")

    calls = [executor.submit(call, number) for number in range(query.calls)]
    try:
        for done in as_completed(calls, timeout):
            done.result()
    except TimeoutError as error:
        raise GatewayTimeout from error
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        raise BadGateway from error
    finally:
        for waiting in calls:
            waiting.cancel()
    return {"results": [done.result() for done in calls]}
