"""The same under Granian, which published benchmarks measured, and which copies leave out."""

import sys
from pathlib import Path

from tests.test_process import finishes_on_sigterm, free_port, serve

GRANIAN = [sys.executable, "-m", "granian", "--interface=asgi", "app.main:app"]


def test_sigterm(tmp_path: Path) -> None:
    port = free_port()
    with serve([*GRANIAN, f"--port={port}"], tmp_path, PORT=port) as server:
        finishes_on_sigterm(server)
