"""Every server of the repository keeps the contract and behaves as recorded.

This file is the first of all, so that later tests find the verdicts and prove no server again.
"""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from subprocess import CompletedProcess
from typing import Any

import pytest
from pymongo import MongoClient

from conformance import records
from conformance.address import with_database
from conformance.verdict import passed_as
from harness.catalog import find_servers, find_target, find_targets
from harness.paths import README
from harness.readme import with_table
from harness.services import backing_services
from spec.behaviours import questions
from tests.tasks import run

pytestmark = pytest.mark.timeout(3600)

Aloud = Callable[[], AbstractContextManager[None]]
Done = CompletedProcess[str]

LONG: Any = {"timeout": 3500, "errors": None}


@pytest.mark.quick
def test_a_server_of_each_language_keeps_the_contract(
    pytestconfig: pytest.Config, aloud: Aloud
) -> None:
    """The main parts, with one server in Python and one in Node.js."""
    if pytestconfig.getoption("-m") != "quick":
        pytest.skip("all servers are tested")
    parts = "text or json or mongo or agents or files or gridfs or slow_api"
    with aloud():
        done = run("conform", "aiohttp/aiohttp", "express/express", "-k", parts, errors=None)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def proved(aloud: Aloud) -> tuple[Done, list[Done]]:
    """The results of `conform all`, which mostly waits, and of servers' own checks beside it.

    The checks take only the time that the proof leaves, and write to databases of their own: some
    of them count the documents there. Play's take as long as those of all others together.
    """
    others = [name for name in find_servers() if name != "play"]
    with aloud(), backing_services() as backing, ThreadPoolExecutor(3) as pool:
        urls = [with_database(backing.mongodb_url, name) for name in ("checks_1", "checks_2")]
        both = [
            pool.submit(run, "check", *names, env={"MONGODB_URL": url}, nice=10, **LONG)
            for names, url in zip((["play"], others), urls, strict=True)
        ]
        proof = pool.submit(run, "conform", "all", "--json", **LONG)
        done = proof.result(), [one.result() for one in both]
        for url in urls:
            with MongoClient[Any](url) as client:
                client.drop_database(client.get_default_database())
    return done


def test_every_server_keeps_the_contract(proved: tuple[Done, list[Done]]) -> None:
    done, _ = proved
    verdicts = json.loads(done.stdout)
    failures = {
        verdict["target"]: verdict["error"]
        or [
            f"{check['part']}: {check['name']}: {check['message']}"
            for check in verdict["checks"]
            if check["outcome"] == "failed"
        ]
        + verdict["changes"]
        + [f"{id}: {error}" for id, error in verdict["unanswered"].items()]
        for verdict in verdicts
        if not verdict["passed"]
    }
    assert failures == {}
    targets = find_targets(["all"])
    assert [verdict["target"] for verdict in verdicts] == [target.name for target in targets]
    whole = {target.name for target in targets if target.server.manifest.parts is None}
    fingerprints = {one["fingerprint"] for one in verdicts if one["target"] in whole}
    assert len(fingerprints) == 1
    assert done.returncode == 0
    assert all(passed_as(target) for target in targets)


def test_servers_pass_their_own_checks(proved: tuple[Done, list[Done]]) -> None:
    _, both = proved
    assert [done.returncode for done in both] == [0, 0]
    shown = "".join(done.stdout for done in both)
    for server in find_servers().values():
        if server.manifest.checks:
            assert f"ok      {server.name}" in shown


def test_a_change_to_a_server_ends_its_verdict() -> None:
    target = find_target("tornado")
    added = target.server.folder / "added-by-a-test.txt"
    before = passed_as(target)
    try:
        added.write_text("")
        assert passed_as(target) is None
    finally:
        added.unlink()
    assert passed_as(target) == before


@pytest.mark.quick
def test_the_readme_lists_every_server() -> None:
    readme = README.read_text()
    assert readme == with_table(readme, find_servers().values()), "run `./just list --readme`"


def test_each_risky_behaviour_has_its_line_in_the_readme() -> None:
    """It names the question's id and says what to do."""
    missing = {}
    for server in find_servers().values():
        readme = (server.folder / "README.md").read_text()
        risky = {
            id
            for record in records.read(server).values()
            for id, answer in record.answers.items()
            if questions()[id].answers[answer].rating == "risky"
        }
        if unnamed := sorted(id for id in risky if f"`{id}`" not in readme):
            missing[server.name] = unnamed
    assert missing == {}
