"""What a verdict depends on."""

import subprocess
import sys

import pytest

from conformance.verdict import _NOT_THE_SUITE, suite_files
from harness.paths import ROOT

pytestmark = pytest.mark.quick

LOADED = "import sys, conformance.behaviours.observe, conformance.cli; print(*sys.modules)"


def test_what_the_suite_loads_decides_a_verdict() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = {path.relative_to(ROOT).as_posix() for path in suite_files()}
    modules = {name.replace(".", "/") for name in done.stdout.split()}
    loaded = {name for name in modules if name.split("/")[0] in ("spec", "harness", "conformance")}
    assert len(loaded) > 50
    assert {one for one in loaded if not {f"{one}.py", f"{one}/__init__.py"} & files} == set()
    for name in _NOT_THE_SUITE:
        assert (ROOT / name).exists()
        assert not any(file.startswith(name) for file in files)
