"""Every check can fail: each catches servers with one fault, and no fault goes uncaught."""

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.run import CHECKS
from harness.paths import ROOT
from tests.programs import execute

pytestmark = pytest.mark.timeout(1800)

WRONG = ROOT / "tests" / "servers" / "wrong"

# Faults that only a benchmark can catch, as tests/test_bench.py shows
MEASURED = {"wrong-under-load", "rarely-short-under-load"}

_TOGETHER = 7  # parts of the checks that are proved in parallel, each with a server of its own

# Files that wait for servers to stop and databases to recover
_SLOW = {"test_process", "test_availability", "test_slow_api"}


@dataclass(frozen=True)
class Proof:
    status: int
    output: str
    claimed: list[str]
    wrong: dict[str, str]


def suite(folder: Path, checks: str, deployment: str, *options: str) -> tuple[int, str]:
    """Run checks on the wrong server; return the exit status and the output."""
    command = [
        *(sys.executable, "-m", "pytest", checks, "--target", str(WRONG / deployment)),
        *("--quiet", "--assert", "plain", "--tb", "short", "-p", "no:cacheprovider"),
        *("--timeout", "600", *options),
    ]
    files = {"FAULT_FILE": str(folder / "fault"), "PROOF_FILE": str(folder / "proof.json")}
    done = execute(*command, env=files, errors=subprocess.STDOUT)
    lines = [line for line in done.stdout.splitlines() if '{"event"' not in line]
    return done.returncode, "\n".join(lines[-60:])


def parts(pattern: str) -> list[str]:
    """Files of checks, and each check of a slow file; the slow ones come first."""
    files = sorted(CHECKS.glob(pattern), key=lambda file: file.stem not in _SLOW)
    found = []
    for file in files:
        names = re.findall(r"(?m)^def (test_\w+)", file.read_text()) if file.stem in _SLOW else []
        found += [f"{file}::{name}" for name in names] or [str(file)]
    return found


def prove(folder: Path, checks: str) -> Proof:
    folder.mkdir()
    (folder / "fault").write_text("")
    status, output = suite(folder, checks, "wrong", "-p", "tests.prove")
    assert (folder / "proof.json").exists(), output
    return Proof(status, output, **json.loads((folder / "proof.json").read_text()))


@pytest.fixture(scope="module")
def proofs(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> list[Proof]:
    folder = tmp_path_factory.mktemp("proof")
    quick = pytestconfig.getoption("-m") == "quick"
    checks = parts("test_answers.py" if quick else "test_*.py")
    folders = [folder / str(number) for number in range(len(checks))]
    with ThreadPoolExecutor(_TOGETHER) as pool:
        return list(pool.map(prove, folders, checks))


@pytest.mark.quick
def test_the_server_is_right_without_a_fault(proofs: list[Proof]) -> None:
    for proof in proofs:
        assert proof.status == 0, proof.output


@pytest.mark.quick
def test_every_check_catches_what_it_claims_to(proofs: list[Proof]) -> None:
    """Each claims a fault, each parameter catches one, and faults make checks fail, not break."""
    assert {check: what for proof in proofs for check, what in proof.wrong.items()} == {}


def test_every_fault_is_claimed(proofs: list[Proof]) -> None:
    claimed = {fault for proof in proofs for fault in proof.claimed}
    named = {
        name
        for file in WRONG.glob("*.py")
        for call in re.findall(r"(?s)\bfault\((.*?)\)", file.read_text())
        for name in re.findall(r'"([a-z0-9-]+)"', call)
    }
    assert named - claimed == MEASURED, "faults that no check claims to catch"
    assert claimed - named == set(), "faults that the wrong server does not have"


@pytest.mark.parametrize(
    ("deployment", "part", "check"),
    [
        ("denied", "process", "test_keep_alive"),
        ("denied", "concurrency", "test_a_slow_request_does_not_block_others"),
        ("denied", "databases", "test_connections_come_from_a_pool"),
        ("denied", "notes", "test_a_body_in_every_framing"),
        ("denied", "process", "test_workers"),
        ("unsupervised", "process", "test_workers"),
    ],
)
def test_a_manifest_that_denies_a_feature_is_caught(
    tmp_path: Path, deployment: str, part: str, check: str
) -> None:
    (tmp_path / "fault").write_text("")
    status, output = suite(tmp_path, str(CHECKS / f"test_{part}.py"), deployment, "-k", check)
    assert status == 1, output
    assert check in output
