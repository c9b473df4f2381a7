"""The same under Granian, which published benchmarks measured, and which copies leave out."""

import sys
from pathlib import Path

from tests.test_process import finishes_on_sigterm, serve

GRANIAN = [sys.executable, "-m", "granian", "--interface=asgi", "app.main:app"]


def test_sigterm(unused_tcp_port: int, tmp_path: Path) -> None:
    command = [*GRANIAN, f"--port={unused_tcp_port}"]
    with serve(command, unused_tcp_port, tmp_path) as server:
        finishes_on_sigterm(server)
