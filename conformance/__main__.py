"""The task that proves servers: ``python -m conformance``."""

import harness.quiet  # noqa: F401
from conformance.cli import main

main(prog_name="just conform")
