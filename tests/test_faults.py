"""Every check can fail: each catches servers with one fault, and no fault goes uncaught."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from tempfile import NamedTemporaryFile

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


def suite(deployment: str, *words: str) -> tuple[int, str]:
    """Run checks on the wrong server; return the exit status and the output."""
    command = [
        *(sys.executable, "-m", "pytest", *words, "--target", str(WRONG / deployment)),
        *("--quiet", "--assert", "plain", "--tb", "short", "-p", "no:cacheprovider"),
        *("--timeout", "600"),
    ]
    with NamedTemporaryFile() as fault:
        done = execute(*command, env={"FAULT_FILE": fault.name}, errors=subprocess.STDOUT)
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


@pytest.mark.quick
def test_every_check_passes_and_catches_what_it_claims_to(pytestconfig: pytest.Config) -> None:
    """Each claims a fault, each parameter catches one, and faults make checks fail, not break."""
    quick = pytestconfig.getoption("-m") == "quick"
    checks = parts("test_answers.py" if quick else "test_*.py")
    with ThreadPoolExecutor(_TOGETHER) as pool:
        done = list(pool.map(lambda check: suite("wrong", check, "-p", "tests.prove"), checks))
    wrong = [output for status, output in done if status != 0]
    assert wrong == [], "\n\n".join(wrong)


@pytest.mark.quick
def test_every_fault_is_claimed() -> None:
    """A check that claims one which the wrong server does not have would miss it."""
    named = {
        name
        for file in WRONG.glob("*.py")
        for call in re.findall(r"(?s)\bfault\((.*?)\)", file.read_text())
        for name in re.findall(r'"([a-z0-9-]+)"', call)
    }
    checks = "".join(file.read_text() for file in CHECKS.glob("*.py"))
    assert {name for name in named if f'"{name}"' not in checks} == MEASURED


@pytest.mark.parametrize(
    ("deployment", "checks"),
    [
        (
            "denied",
            [
                "test_concurrency.py::test_a_slow_request_does_not_block_others",
                "test_databases.py::test_connections_come_from_a_pool",
                "test_notes.py::test_a_body_in_every_framing",
                "test_process.py::test_keep_alive",
                "test_process.py::test_workers",
            ],
        ),
        ("unsupervised", ["test_process.py::test_workers"]),
    ],
)
def test_a_manifest_that_denies_a_feature_is_caught(deployment: str, checks: list[str]) -> None:
    _, output = suite(deployment, *[f"{CHECKS}/{check}" for check in checks])
    failed = re.findall(r"(?m)^FAILED .*?(test_\w+\.py::test_\w+)", output)
    assert set(failed) == set(checks), output
