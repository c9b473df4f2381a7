"""The tasks that keep servers and results current: ``python -m upkeep``."""

import harness.quiet  # noqa: F401
from upkeep.cli import main

main(prog_name="just")
