"""``python -m bench.report``."""

from bench.report.cli import main

main(prog_name="just report")
