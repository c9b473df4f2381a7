"""The keeper process: ``python -m harness.services NAME``."""

import sys

from harness.services import KINDS
from harness.services.keeper import run_keeper

sys.exit(run_keeper(next(kind for kind in KINDS if kind.name == sys.argv[1])()))
