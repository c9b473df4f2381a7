"""The task that shows behaviours: ``python -m conformance.matrix``."""

from conformance.matrix.cli import main

main(prog_name="just behaviours")
