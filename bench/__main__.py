"""``python -m bench``."""

import harness.quiet  # noqa: F401
from bench.cli import main

main(prog_name="just bench")
