"""The content of correct responses, computed from the fixtures."""

import hashlib
import json
import sqlite3
from contextlib import closing
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, cast

import yaml

ROOT = Path(__file__).parent
FIXTURES = ROOT / "fixtures"

OPENAPI = ROOT / "openapi.yaml"
ARTICLES = FIXTURES / "articles.json"
NOTES = FIXTURES / "notes.json"
AGENTS_SQL = FIXTURES / "agents.sql"
FILES = FIXTURES / "files"
REVISIONS = FIXTURES / "revisions"

AGENTS_QUERY = """\
SELECT f.number, s.extension, s.context, s.state_interface,
       'offline' AS status, '-1' AS extension_status, '0' AS paused
FROM agentfeatures f
LEFT JOIN agent_login_status s ON s.agent_id = f.id
ORDER BY f.number"""

# The ``metadata.contentType`` of GridFS files, by extension
STORED_TYPES = {
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".svg": "image/svg+xml",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".html": "text/html; charset=utf-8",
}

# The type and subtype of `/files`, by extension; the stack decides others
FILE_TYPES = {
    extension: stored.partition(";")[0]
    for extension, stored in STORED_TYPES.items()
    if extension not in (".webp", ".js")
}


@cache
def openapi() -> dict[str, Any]:
    """Return the parsed OpenAPI document."""
    return cast(dict[str, Any], yaml.safe_load(OPENAPI.read_text(encoding="utf-8")))


def articles() -> list[dict[str, Any]]:
    """Return the collection's documents: members in stored order, `_id` as 24 hex digits."""
    return cast(list[dict[str, Any]], json.loads(ARTICLES.read_text(encoding="utf-8")))


def article(slug: str) -> dict[str, Any]:
    """Return the document with this `slug`; `KeyError` if there is none."""
    return {document["slug"]: document for document in articles()}[slug]


def notes() -> list[dict[str, str]]:
    """Return the notes that are stored from the start, `_id` as 24 hex digits."""
    return cast(list[dict[str, str]], json.loads(NOTES.read_text(encoding="utf-8")))


def agents() -> list[dict[str, str | None]]:
    """Return the rows of `AGENTS_QUERY`, in order."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.row_factory = sqlite3.Row
        database.executescript(AGENTS_SQL.read_text(encoding="utf-8"))
        return [dict(row) for row in database.execute(AGENTS_QUERY)]


def files() -> dict[str, bytes]:
    """Return the content of each file that `/files` and `/gridfs` serve, by name."""
    return _contents(FILES)


def revisions() -> dict[str, bytes]:
    """Return the older GridFS revisions by name; they are stored before those of `files()`."""
    return _contents(REVISIONS)


def content_type(name: str) -> str:
    """Return the `metadata.contentType` of a GridFS file, which depends only on its name."""
    return STORED_TYPES.get(Path(name).suffix, "application/octet-stream")


def upstream_result(call: int) -> dict[str, object]:
    """Return the upstream's response to the call of `/slow_api` with this number."""
    return {"call": call, "token": hashlib.sha256(f"call {call}".encode()).hexdigest()[:16]}


def json_body(value: object) -> bytes:
    """Encode `value` as the contract requires: compact, unescaped UTF-8, members in order."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def problem(status: int, detail: str | None = None) -> bytes:
    """Return the `application/problem+json` body of an error."""
    members = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    return json_body(members if detail is None else members | {"detail": detail})


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
