"""Runs programs to completion."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from harness.paths import ROOT


def execute(
    *words: str | Path,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    errors: int | None = subprocess.PIPE,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program, whose environment has these variables too; ``errors`` receives its stderr."""
    return subprocess.run(
        list(map(str, words)),
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        timeout=timeout,
        check=False,
    )
