"""The same under Gunicorn, which published benchmarks measured, and which copies leave out."""

import sys
from pathlib import Path

from tests.test_process import finishes_on_sigterm, serve


def test_sigterm(unused_tcp_port: int, tmp_path: Path) -> None:
    with serve([sys.executable, "-m", "gunicorn"], unused_tcp_port, tmp_path) as server:
        finishes_on_sigterm(server)
