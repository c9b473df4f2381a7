"""The same under servers that published benchmarks measured, and that copies leave out."""

import sys
from pathlib import Path
from typing import Any

from pymongo.database import Database

from tests.test_process import finishes_on_sigterm, keeps_the_contract, serve

GEVENT = [sys.executable, "-m", "app.pywsgi"]
UWSGI = [f"{Path(sys.executable).parent}/uwsgi", "uwsgi.ini", "--threads=10"]


def test_sigterm_to_gevent(unused_port: int, tmp_path: Path) -> None:
    with serve(GEVENT, unused_port, tmp_path) as server:
        finishes_on_sigterm(server)


def test_requests_to_gevent(
    unused_port: int, tmp_path: Path, database: Database[dict[str, Any]], bare_file: str
) -> None:
    with serve(GEVENT, unused_port, tmp_path) as server:
        keeps_the_contract(server, database, bare_file)


def test_requests_to_uwsgi(
    unused_port: int, tmp_path: Path, database: Database[dict[str, Any]], bare_file: str
) -> None:
    command = [*UWSGI, f"--http=127.0.0.1:{unused_port}"]
    with serve(command, unused_port, tmp_path) as server:
        keeps_the_contract(server, database, bare_file)
