"""The keeper process: ``python -m harness.services NAME``."""

import sys

from harness.errors import TaskError
from harness.services import KINDS
from harness.services.keeper import run_keeper

try:
    sys.exit(run_keeper(next(kind for kind in KINDS if kind.name == sys.argv[1])()))
except TaskError as error:
    sys.exit(f"error: {error}")
