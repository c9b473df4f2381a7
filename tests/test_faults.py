"""Every check can fail: each catches servers that are wrong in one way; no fault goes uncaught."""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.paths import ROOT
from tests.prove import DENIED

pytestmark = pytest.mark.timeout(1800)

SHARDS = (
    "text or parameters or errors or schema or fingerprint or mongo or agents",
    "files or gridfs or connection or concurrency or sleep or slow_api or availability or process",
)
"""The checks in parts that take about as long; each part has a server of its own."""


MEASURED = {"wrong-under-load"}
"""Faults that only a measurement can catch: tests/test_bench.py shows that it does."""


@dataclass(frozen=True)
class Proof:
    status: int
    output: str
    claims: dict[str, list[str]]
    missed: dict[str, list[str]]


def suite(folder: Path, target: str, expression: str, *options: str) -> tuple[int, str]:
    """Run the checks on the wrong server; gives the exit status and the output."""
    files = [f"conformance/contract/test_{part}.py" for part in expression.split(" or ")]
    command = [
        *(sys.executable, "-m", "pytest", *files, "--root", "tests", "--target", target, "--quiet"),
        *("--assert", "plain", "--tb", "short", "-p", "no:cacheprovider", "--timeout", "300"),
        *options,
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={
            **os.environ,
            "FAULT_FILE": str(folder / "fault"),
            "PROOF_FILE": str(folder / "proof.json"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if not line.startswith(('{"event"', '.{"'))]
    return done.returncode, "\n".join(lines[-60:])


def prove(folder: Path, expression: str) -> Proof:
    folder.mkdir()
    (folder / "fault").write_text("")
    status, output = suite(folder, "wrong/wrong", expression, "-p", "tests.prove")
    told: dict[str, Any] = json.loads((folder / "proof.json").read_text())
    return Proof(status, output, told["claims"], told["missed"])


@pytest.fixture(scope="module")
def proofs(tmp_path_factory: pytest.TempPathFactory) -> list[Proof]:
    folder = tmp_path_factory.mktemp("proof")
    with ThreadPoolExecutor(len(SHARDS)) as pool:
        folders = [folder / str(number) for number in range(len(SHARDS))]
        return list(pool.map(prove, folders, SHARDS))


def test_the_server_is_right_without_a_fault(proofs: list[Proof]) -> None:
    for proof in proofs:
        assert proof.status == 0, proof.output


def test_every_fault_is_caught_by_each_check_that_claims_to(proofs: list[Proof]) -> None:
    assert {check: faults for proof in proofs for check, faults in proof.missed.items()} == {}


def test_every_check_claims_a_fault(proofs: list[Proof]) -> None:
    assert [check for proof in proofs for check, faults in proof.claims.items() if not faults] == []


def test_every_fault_is_claimed(proofs: list[Proof]) -> None:
    claimed = {fault for proof in proofs for faults in proof.claims.values() for fault in faults}
    named = {
        name
        for file in (ROOT / "tests" / "servers" / "wrong").glob("*.py")
        for call in re.findall(r"(?s)\bfault\((.*?)\)", file.read_text())
        for name in re.findall(r'"([a-z0-9-]+)"', call)
    }
    assert named - claimed == MEASURED, "faults that no check claims to catch"
    committed = {fault for fault in claimed if not fault.endswith(DENIED)}
    indirect = {"file-without-etag", "file-without-date", "file-without-accept-ranges"}
    indirect |= {"if-none-match-one", "gridfs-if-none-match-one"}
    indirect |= {"missing-file-500", "missing-revision-500"}
    assert committed - named - indirect == set(), "faults that the wrong server does not have"


@pytest.mark.parametrize(
    ("part", "check"),
    [
        ("connection", "test_keep_alive"),
        ("concurrency", "test_a_slow_request_leaves_others_alone"),
        ("agents", "test_connections_come_from_a_pool"),
        ("process", "test_a_killed_worker"),
    ],
)
def test_a_manifest_that_denies_what_a_server_does_is_caught(
    tmp_path: Path, part: str, check: str
) -> None:
    (tmp_path / "fault").write_text("")
    status, output = suite(tmp_path, "wrong/denied", part, "-k", check)
    assert status == 1, output
    assert check in output
