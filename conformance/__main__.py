"""The task that proves servers: ``python -m conformance``."""

from conformance.cli import main

main(prog_name="just conform")
