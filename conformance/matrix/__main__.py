"""The task ``behaviours``: ``python -m conformance.matrix``."""

import harness.quiet  # noqa: F401
from conformance.matrix.cli import main

main(prog_name="just behaviours")
