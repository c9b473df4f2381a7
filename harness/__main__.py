"""The tasks for servers and services: ``python -m harness``."""

import harness.quiet  # noqa: F401
from harness.cli import main

main(prog_name="just")
