"""The OpenAPI documents that frameworks write of their servers say what the contract says."""

import json
import subprocess
from typing import Any

import pytest

import spec
from harness.servers.build import build
from harness.servers.catalog import find_servers

pytestmark = pytest.mark.quick

Document = dict[str, Any]
Operations = dict[tuple[str, str], dict[str, set[str]]]

DOCUMENT = "import json; from app.main import app; print(json.dumps(app.{}))"


def own_document(name: str, expression: str) -> Document:
    """The document as the server has it, without serving."""
    server = find_servers()[name]
    build(server)
    settings = {"FILES_DIR": str(spec.FILES), "SLOW_API_URL": "http://127.0.0.1:1/"}
    python = str(server.folder / ".venv/bin/python")
    output = subprocess.check_output(
        [python, "-c", DOCUMENT.format(expression)], cwd=server.folder, env=settings
    )
    document: Document = json.loads(output)
    return document


def operations(document: Document) -> Operations:
    """The media types of each status of each operation, without parameters such as charset.

    None, or any beside ``*/*``, is ``*/*``: the document leaves it open. What says no more than
    its range does, such as a 413 beside a 4XX, is left out.
    """
    found: Operations = {}
    for path, item in document["paths"].items():
        for method in item.keys() - {"parameters"}:
            types = {
                status: media_types(document, response)
                for status, response in item[method]["responses"].items()
            }
            found[method, path] = {
                status: named
                for status, named in types.items()
                if status.endswith("XX") or named != types.get(f"{status[0]}XX")
            }
    return found


def media_types(document: Document, response: Document) -> set[str]:
    if "$ref" in response:
        response = document["components"]["responses"][response["$ref"].rpartition("/")[2]]
    named = {key.partition(";")[0] for key in response.get("content", {})}
    return {"*/*"} if not named or "*/*" in named else named


def contract() -> Operations:
    """Without ``/files``, of which no framework says anything: its files are an application."""
    expected = operations(spec.openapi())
    del expected["get", "/files/{name}"]
    return expected


def test_fastapi() -> None:
    assert operations(own_document("fastapi", "openapi()")) == contract()


def test_litestar() -> None:
    """It has a 400 for each parameter, one for a wrong body too, and no range such as 4XX."""
    expected = contract()
    del expected["post", "/notes"]["422"]
    for path in ("/notes/{_id}", "/gridfs/{name}"):
        expected["get", path]["400"] = {"application/problem+json"}
    for responses in expected.values():
        del responses["4XX"]
    assert operations(own_document("litestar", "openapi_schema.to_schema()")) == expected
