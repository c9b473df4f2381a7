"""``python -m bench``."""

from bench.cli import main

main(prog_name="just bench")
