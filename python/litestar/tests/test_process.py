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
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pymongo.database import Database

from app.settings import settings

UVICORN = [sys.executable, "-m", "app.main"]


class Server(NamedTuple):
    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def send(self, method: str, target: str, body: str = "") -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, target, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def written(self) -> str:
        """The log, once the server has ended: Litestar writes it in a thread of its own."""
        self.process.terminate()
        self.process.wait(15)
        return self.log.read_text()


@contextmanager
def serve(command: list[str], port: int, folder: Path, **environment: str) -> Iterator[Server]:
    log = folder / "log"
    process = subprocess.Popen(
        command,
        env=os.environ | {"HOST": "127.0.0.1", "PORT": str(port)} | environment,
        stdout=log.open("wb"),
        stderr=subprocess.STDOUT,
    )
    try:
        wait_for(port, process)
        yield Server(process, port, log)
    finally:
        process.kill()
        process.wait()


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            assert process.poll() is None
            time.sleep(0.05)
    raise TimeoutError


def finishes_on_sigterm(server: Server) -> None:
    with ThreadPoolExecutor() as executor:
        assert server.send("GET", "/index") == (200, b"Hello, World!")
        answer = executor.submit(server.send, "GET", "/sleep?ms=4000")
        time.sleep(1.5)
        server.process.terminate()
        assert answer.result() == (200, b'{"slept_ms":4000}')
        # Uvicorn raises the signal again at the end.
        assert server.process.wait(15) in (0, -signal.SIGTERM)


def test_sigterm_lets_a_request_end(unused_tcp_port: int, tmp_path: Path) -> None:
    with serve(UVICORN, unused_tcp_port, tmp_path) as server:
        finishes_on_sigterm(server)


def test_settings_out_of_bounds_are_named() -> None:
    bad = {"PORT": "12abc", "WORKERS": "0", "DATABASE_URL": "me:secret@host"}
    done = subprocess.run(UVICORN, env=os.environ | bad, capture_output=True, text=True)
    assert done.returncode != 0
    assert bad.keys() <= set(done.stderr.splitlines())
    assert "secret" not in done.stderr


def test_what_it_needs_is_silent(unused_tcp_port: int, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor() as executor:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        database = f"postgresql://me:secret@{address}/refservers"
        urls = {"DATABASE_URL": database, "SLOW_API_URL": f"http://{address}"}
        with serve(UVICORN, unused_tcp_port, tmp_path, **urls) as server:
            late = executor.submit(server.send, "GET", "/slow_api?calls=5&ms=0")
            assert server.send("GET", "/agents")[0] == 503
            assert late.result()[0] == 504
            log = server.written()
    errors = [line.split(" - ") for line in log.splitlines() if line.startswith("ERROR")]
    assert [error[-1].split(": ")[0] for error in errors] == ["'/agents'", "'/slow_api'"]
    assert "secret" not in log
    assert "Traceback" not in log


def test_a_fault_is_logged_with_its_traceback(unused_tcp_port: int, tmp_path: Path) -> None:
    database = settings.DATABASE_URL.rpartition("/")[0] + "/unknown"
    with serve(UVICORN, unused_tcp_port, tmp_path, DATABASE_URL=database) as server:
        status, body = server.send("GET", "/agents")
        log = server.written()
    assert status == 500
    assert body == b'{"type":"about:blank","title":"Internal Server Error","status":500}'
    assert log.count("Traceback") == 1
    assert "InvalidCatalogNameError" in log


def test_no_file_from_outside(unused_tcp_port: int, tmp_path: Path) -> None:
    with serve(UVICORN, unused_tcp_port, tmp_path) as server:
        for name in ("../server.toml", "..%2Fserver.toml", "%2Fetc%2Fpasswd"):
            assert server.send("GET", f"/files/{name}")[0] == 404


def test_a_missing_chunk_ends_the_connection(
    unused_tcp_port: int, tmp_path: Path, database: Database[dict[str, Any]], bare_file: str
) -> None:
    with serve(UVICORN, unused_tcp_port, tmp_path) as server:
        assert server.send("GET", f"/gridfs/{bare_file}") == (200, b"a" * 300_000)
        file = database.fs.files.find_one({"filename": bare_file}) or {}
        database.fs.chunks.delete_one({"files_id": file["_id"], "n": 1})
        with pytest.raises(http.client.IncompleteRead) as cut:
            server.send("GET", f"/gridfs/{bare_file}")
        assert cut.value.partial.strip(b"a") == b""
        database.fs.chunks.delete_one({"files_id": file["_id"], "n": 0})
        assert server.send("GET", f"/gridfs/{bare_file}")[0] == 500
