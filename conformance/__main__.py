"""The task ``conform``: ``python -m conformance``."""

import harness.quiet  # noqa: F401
from conformance.cli import main

main(prog_name="just conform")
