"""Notes: validated, stored once and returned as they were, with faults."""

import asyncio
import contextlib
import json
from typing import Any

from bson import ObjectId
from bson.errors import InvalidId
from databases import AWAY, Databases
from faults import fault
from wire import Request

Note = dict[str, Any]


# What the switched answers store
TITLES = {"taken": "t", "altered": "t?", "the first": "first", "the last": "last"}

# The questions whose bodies contain these bytes
MARKS = {
    b"[[[[": "json-nested",
    b'"first"': "json-duplicate-members",
    b"NaN": "json-not-a-number",
    b"\xff": "json-invalid-utf-8",
    b" " * 1024: "body-of-2-mb",
}


def asked(request: Request) -> list[str]:
    """The questions that a request for a new note asks."""
    by_type = {None: "json-without-type", "text/plain": "json-as-text"}
    by_body = [question for mark, question in MARKS.items() if mark in request.body]
    return [*request.asked, by_type.get(request.header("content-type"), ""), *by_body]


class Invalid(Exception):
    """The body is not a note."""


class Notes:
    def __init__(self, databases: Databases) -> None:
        self.databases = databases
        self.cache: dict[str, Note] = {}
        self.refused: list[Note] = []

    async def create(self, request: Request, title: str | None) -> Note:
        if fault("note-chunked-refused") and request.header("transfer-encoding"):
            raise Invalid("a length is needed")
        if fault("note-large-refused") and len(request.body) > 50_000:
            raise Invalid("it is too large")
        try:
            note = {"title": title, "text": ""} if title else validated(request.body)
        except Invalid:
            if fault("note-refused-stored"):
                await self.store({"title": request.body.decode(errors="replace"), "text": ""})
            raise
        if fault("note-altered"):
            note["text"] = note["text"].strip().encode("ascii", "replace").decode()
        await self.store(note)
        return note

    async def store(self, note: Note) -> None:
        if fault("note-stored-late"):
            asyncio.get_running_loop().create_task(self.store_late(dict(note)))
        if fault("note-not-stored"):
            note["_id"] = ObjectId()
            return
        await self.databases.database.notes.insert_one(note)
        if fault("note-stored-twice"):
            await self.databases.database.notes.insert_one(note | {"_id": ObjectId()})

    async def store_late(self, note: Note) -> None:
        """Store it as soon as the database is back."""
        while True:
            with contextlib.suppress(*AWAY):
                await self.databases.database.notes.insert_one(note)
                return
            await asyncio.sleep(0.1)

    async def read(self, id: str) -> Note | None:
        if fault("note-cached") and id in self.cache:
            return self.cache[id]
        try:
            key = ObjectId(id)
        except InvalidId:
            if fault("note-id-500"):
                raise
            return None
        note = await self.databases.database.notes.find_one({"_id": key})
        if note is None and fault("note-invented"):
            return {"_id": key, "title": "", "text": ""}
        if note is not None:
            if fault("note-id-repeated"):
                note["_id"] = id
            self.cache[id] = note
        return note


def validated(body: bytes) -> Note:
    if fault("note-unchecked"):
        return {"title": body.decode(errors="replace"), "text": ""}
    try:
        given = json.loads(body)
    except ValueError:
        raise Invalid("not JSON") from None
    if not isinstance(given, dict):
        raise Invalid("not an object")
    title, text = given.get("title"), given.get("text")
    if not isinstance(title, str) or not isinstance(text, str):
        raise Invalid("title and text must be strings")
    if not 0 < len(title) <= 200 or len(text) > 10_000:
        raise Invalid("title or text is too long, or title is empty")
    return {"title": title, "text": text}
