"""Where things are."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The repository."""

RUN = ROOT / ".run"
"""What running tasks leave: data, locks, logs. Safe to delete while nothing runs."""

TOOLS = ROOT / ".tools"
"""What is installed for the tasks alone: just, uv, databases."""

CALLER = Path(os.environ.get("INVOCATION_DIRECTORY") or Path.cwd())
"""The folder that the task was called from: relative paths are meant from there."""
