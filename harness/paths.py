"""The project's folders."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent  # The repository

README = ROOT / "README.md"

RUN = ROOT / ".run"  # The tasks' data, locks and logs. Safe to delete while no task runs.

TOOLS = ROOT / ".tools"  # Tools installed for the tasks only: just, uv, databases

# The caller's working directory, against which relative paths are resolved
CALLER = Path(os.environ.get("INVOCATION_DIRECTORY") or Path.cwd())
