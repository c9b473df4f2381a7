"""The files of the contract agree with each other."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
from openapi_spec_validator import validate

import spec
from conformance.corpus import corpus
from spec import media_types

pytestmark = pytest.mark.quick


def test_every_answer_is_the_one_that_openapi_describes() -> None:
    """Its status, its media type and, if it is JSON, its schema."""
    document = spec.openapi()
    validate(document)
    patterns = {re.sub(r"\{\w+\}", ".*", path): path for path in document["paths"]}
    for exchange in corpus():
        target = exchange.target.partition("?")[0]
        known = [path for pattern, path in patterns.items() if re.fullmatch(pattern, target)]
        if not known:
            assert exchange.expected.status == 404, target
            continue
        responses = document["paths"][known[0]]["get"]["responses"]
        response = responses[str(exchange.expected.status)]
        if reference := response.get("$ref"):
            response = document["components"]["responses"][reference.rpartition("/")[2]]
        if not (media_type := exchange.expected.media_type):
            continue
        described = {media_types.canonical(name): one for name, one in response["content"].items()}
        found = described.get(media_types.canonical(media_type)) or described["*/*"]
        if "json" in media_type:
            schema = found["schema"] | {"components": document["components"]}
            jsonschema.Draft202012Validator(schema).validate(json.loads(exchange.expected.body))


def test_the_fixtures_have_what_servers_get_wrong() -> None:
    """Files of many kinds and names, long and nested documents, and rows without a partner."""
    names, (_, big), agents = spec.files(), spec.articles(), spec.agents()
    suffixes = {Path(name).suffix for name in names}
    assert {"", ".jpg", ".webp", ".svg", ".css", ".js"} <= suffixes
    assert any(" " in name for name in names)
    assert not all(name.isascii() for name in names)
    assert b"" in names.values()
    assert spec.revisions().keys() <= names.keys()
    assert 5_000 < len(spec.json_body(big)) < 7_000
    assert not spec.json_body(big).isascii()
    assert 20 <= sum(agent["extension"] is not None for agent in agents) <= 30
