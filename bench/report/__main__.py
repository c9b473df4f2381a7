"""``python -m bench.report``."""

import harness.quiet  # noqa: F401
from bench.report.cli import main

main(prog_name="just report")
