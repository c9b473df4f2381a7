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

from conformance.corpus import corpus
from conformance.verdict import passed_as, states_of
from harness.copies.readme import blocks
from harness.servers.catalog import Server, find_servers, find_targets
from harness.servers.source import copied_files, source_files
from harness.services import Services, backing_services
from tests.databases import with_mongodb_of_its_own
from tests.tasks import run
from tests.test_fingerprint import hashed

pytestmark = pytest.mark.timeout(3600)

Aloud = Callable[[], AbstractContextManager[None]]
Done = CompletedProcess[str]
Verdict = dict[str, Any]
FEW = 3
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


def is_checked_as_a_copy(server: Server) -> bool:
    """Whether `tests/test_copies.py` runs all its checks, as the README names them."""
    tests = blocks((server.folder / "README.md").read_text())[2]
    checks = {
        " ".join(word for word in command if word != "--quiet")
        for command in server.manifest.checks
        # What the README's pip installs, and what is left to its reader's machine
        if command[0] not in ("uv", "sh")
    }
    return checks <= set(tests) and copied_files(server) == source_files(server.folder)


def check(backing: Services, names: list[str]) -> Done:
    """Run servers' own checks; some count the documents in the database: it is one of their own."""
    with with_mongodb_of_its_own(backing, f"check_{names[0]}") as own:
        return run("check", *names, env={"MONGODB_URL": own.mongodb_url}, **LONG)


@pytest.fixture(scope="module")
def proved(aloud: Aloud) -> tuple[list[Verdict], list[Done]]:
    """The verdicts of `conform all`, and servers' own checks beside it, which mostly wait.

    A few deployments that fail while so much runs are tested again by themselves: servers and their
    supervisors have timeouts of a few seconds, which a busy machine exceeds.
    """
    names = [server.name for server in find_servers().values() if not is_checked_as_a_copy(server)]
    with aloud(), backing_services() as backing, ThreadPoolExecutor(3) as pool:
        proof = pool.submit(run, "conform", "all", "--json", **LONG)
        checks = [pool.submit(check, backing, half) for half in (names[::2], names[1::2])]
        verdicts, done = verdicts_of(proof.result()), [one.result() for one in checks]
        failed = [verdict["target"] for verdict in verdicts if not verdict["passed"]]
        if 0 < len(failed) <= FEW:
            again = verdicts_of(run("conform", *failed, "--jobs", "1", "--json", **LONG))
            verdicts = list({one["target"]: one for one in (*verdicts, *again)}.values())
    return verdicts, done


def verdicts_of(done: Done) -> list[Verdict]:
    """What the task printed; its exit status says whether all have passed."""
    verdicts: list[Verdict] = json.loads(done.stdout)
    assert (done.returncode == 0) == all(verdict["passed"] for verdict in verdicts)
    return verdicts


def test_every_server_keeps_the_contract(proved: tuple[list[Verdict], list[Done]]) -> None:
    verdicts, _ = proved
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
    assert fingerprints == {hashed(corpus())}, "not that of the contract's own answers"
    states = states_of(targets)
    assert all(passed_as(target, states[target.name]) for target in targets)


def test_servers_pass_their_own_checks(proved: tuple[list[Verdict], list[Done]]) -> None:
    _, checks = proved
    assert [done.returncode for done in checks] == [0, 0]
    passed = "".join(done.stdout for done in checks)
    for server in find_servers().values():
        if not is_checked_as_a_copy(server):
            assert f"ok      {server.name}" in passed
