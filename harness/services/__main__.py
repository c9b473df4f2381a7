"""A keeper's own process: ``python -m harness.services NAME``."""

import sys

from harness.services import ALL
from harness.services.keeper import run_keeper

sys.exit(run_keeper(next(service for service in ALL if service.name == sys.argv[1])()))
