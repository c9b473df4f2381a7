"""The files of the contract agree with each other."""

import json

import jsonschema
import psycopg
import pytest
from openapi_spec_validator import validate

import spec
from conformance.corpus import corpus
from harness.services import backing_services
from spec import media_types

pytestmark = pytest.mark.quick


def test_openapi_is_valid() -> None:
    validate(spec.openapi())


def test_every_answer_is_the_one_that_openapi_describes() -> None:
    """Its status, its media type and, if it is JSON, its schema."""
    document = spec.openapi()
    paths = {path.replace("{_id}", "").replace("{name}", ""): path for path in document["paths"]}
    for exchange in corpus():
        target = exchange.target.partition("?")[0]
        known = [
            path
            for start, path in paths.items()
            if target == start or (start.endswith("/") and target.startswith(start))
        ]
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


def test_the_kinds_of_files() -> None:
    names = spec.files()
    for extension in (".jpg", ".jpeg", ".png", ".gif", ".webp", ".svg", ".css", ".js", ".txt"):
        assert any(name.endswith(extension) for name in names)
    assert any("." not in name for name in names)
    assert any(" " in name for name in names)
    assert any(not name.isascii() for name in names)
    assert b"" in names.values()
    assert spec.revisions().keys() <= names.keys()


def test_articles() -> None:
    small, big = spec.articles()
    assert list(small) == ["_id", "slug", *list(small)[2:]]
    assert len(small) == 3
    assert 5_000 < len(spec.json_body(big)) < 7_000
    assert len(big["people"]) == 6
    assert all(len(person) == 21 for person in big["people"])
    assert not spec.json_body(big).isascii()


def test_agents() -> None:
    agents = spec.agents()
    assert [agent["number"] for agent in agents] == [str(number) for number in range(300, 350)]
    assert 20 <= sum(agent["extension"] is not None for agent in agents) <= 30
    for agent in agents:
        assert (agent["extension"] is None) == (agent["context"] is None)


def test_agents_are_the_same_in_postgresql() -> None:
    with backing_services() as backing, psycopg.connect(backing.database_url) as connection:
        cursor = connection.execute(spec.AGENTS_QUERY)
        names = [column.name for column in cursor.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
    assert rows == spec.agents()


@pytest.mark.parametrize("status", [400, 404, 405, 500, 502, 503, 504])
def test_problems(status: int) -> None:
    body = spec.problem(status)
    assert json.loads(body)["status"] == status
    assert list(json.loads(body)) == ["type", "title", "status"]
