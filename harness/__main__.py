"""The tasks that run servers and services: ``python -m harness``."""

from harness.cli import main

main(prog_name="just")
