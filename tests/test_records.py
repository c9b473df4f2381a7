"""The recorded behaviours of a server's deployments."""

import multiprocessing
import shutil
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from conformance import records
from conformance.matrix.rows import rows
from conformance.prove import Proof
from harness.errors import UsageError
from harness.servers.catalog import Target, find_target, find_targets
from harness.servers.versions import packages

pytestmark = pytest.mark.quick


def record(deployment: str) -> None:
    records.write(find_target(deployment), {"head": deployment})


@pytest.fixture
def targets(tmp_path: Path) -> list[Target]:
    """The deployments of a copy of Flask's server, without records."""
    folder = tmp_path / "flask"
    folder.mkdir()
    for file in ("server.toml", "pyproject.toml", "requirements.txt"):
        shutil.copy(find_target("flask").server.folder / file, folder)
    return find_targets([str(folder)])


@pytest.mark.parametrize("kind", ["threads", "tasks"])
def test_deployments_recorded_at_once_all_stay(kind: str, targets: list[Target]) -> None:
    pool: Executor = ThreadPoolExecutor(len(targets))
    if kind == "tasks":
        pool = ProcessPoolExecutor(2, multiprocessing.get_context("forkserver"))
    with pool:
        list(pool.map(record, [one.path for one in targets]))
    found = {name: one.answers["head"] for name, one in records.read(targets[0].server).items()}
    assert found == {one.deployment.name: one.path for one in targets}


def test_an_answer_that_is_no_longer_listed_is_not_shown(targets: list[Target]) -> None:
    first, second, *_ = targets
    records.write(first, {"date": "sent", "keep-alive": "sometimes"})
    records.write(second, {"date": "sometimes", "no-question": "sent"})
    assert [(one.question.id, one.answers) for one in rows(targets)] == [
        ("date", {first.name: "sent"})
    ]


def test_a_broken_record_is_found_before_anything_is_tested(targets: list[Target]) -> None:
    (targets[0].server.folder / records.NAME).write_text("{")
    proof = Proof()
    with pytest.raises(UsageError, match="is not a record of behaviours"):
        proof.run(targets)
    assert proof.verdicts == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fastapi", {"fastapi", "starlette", "uvicorn", "httptools", "pymongo", "asyncpg"}),
        ("flask", {"flask", "werkzeug", "gunicorn", "gevent"}),
        ("express", {"express", "router", "mongodb", "pg"}),
        ("play", {"org.apache.pekko:pekko-http-core_2.13", "org.postgresql:postgresql"}),
    ],
)
def test_all_that_answers_has_a_version(name: str, expected: set[str]) -> None:
    (target, *_) = find_targets([name])
    found = packages(target.server)
    assert expected <= found.keys()
    assert all(version[:1].isdigit() for version in found.values())
