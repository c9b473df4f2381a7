"""The process as a user starts it."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from gridfs import GridFSBucket
from pymongo.database import Database

COMMAND = [sys.executable, "-m", "app.main"]


@contextmanager
def serve(**environment: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The process, which logs to its stderr, and its port."""
    with socket.socket() as bound:  # so that no other program gets the port
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        env = os.environ | {"HOST": "127.0.0.1", "PORT": str(port)} | environment
        with subprocess.Popen(COMMAND, env=env, stderr=subprocess.PIPE, text=True) as process:
            try:
                for _ in range(600):
                    try:
                        socket.create_connection(("127.0.0.1", port)).close()
                        break
                    except ConnectionRefusedError:
                        assert process.poll() is None
                        time.sleep(0.05)
                yield process, port
            finally:
                process.kill()


def get(port: int, target: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", target)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_sigterm_lets_a_request_end() -> None:
    with serve() as (process, port), ThreadPoolExecutor() as executor:
        answer = executor.submit(get, port, "/sleep?ms=4000")
        time.sleep(1.5)
        process.terminate()
        assert answer.result() == (200, b'{"slept_ms":4000}')
        # Uvicorn raises the signal again at the end.
        assert process.wait(15) in (0, -signal.SIGTERM)


def test_settings_out_of_bounds_are_named() -> None:
    bad = {"PORT": "12abc", "WORKERS": "0", "DATABASE_URL": "me:secret@host"}
    done = subprocess.run(COMMAND, env=os.environ | bad, capture_output=True, text=True)
    assert done.returncode != 0
    assert bad.keys() <= set(done.stderr.splitlines())
    assert "secret" not in done.stderr


def test_what_it_needs_is_silent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor() as executor:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        database = f"postgresql://me:secret@{address}/refservers"
        with serve(DATABASE_URL=database, SLOW_API_URL=f"http://{address}") as (process, port):
            late = executor.submit(get, port, "/slow_api?calls=5&ms=0")
            assert get(port, "/agents")[0] == 503
            assert late.result()[0] == 504
            process.terminate()
            _, log = process.communicate()
    errors = [line.split(": ") for line in log.splitlines() if line.startswith("ERROR:")]
    assert [error[1].strip() for error in errors] == ["'/agents'", "'/slow_api'"]
    assert "secret" not in log


def test_a_missing_chunk_ends_the_connection(database: Database[dict[str, Any]]) -> None:
    bucket = GridFSBucket(database, chunk_size_bytes=100_000)
    file = bucket.upload_from_stream("tests-cut", b"a" * 300_000)  # without metadata
    try:
        with serve() as (_, port):
            assert get(port, "/gridfs/tests-cut") == (200, b"a" * 300_000)
            database.fs.chunks.delete_one({"files_id": file, "n": 1})
            with pytest.raises(http.client.IncompleteRead) as cut:
                get(port, "/gridfs/tests-cut")
            database.fs.chunks.delete_one({"files_id": file, "n": 0})
            assert get(port, "/gridfs/tests-cut")[0] == 500
        assert cut.value.partial.strip(b"a") == b""
    finally:
        bucket.delete(file)
