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
from urllib.parse import unquote

import pytest
from bson import ObjectId
from pymongo.database import Database

APP = [sys.executable, "-m", "app.main"]


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


@pytest.mark.parametrize("workers", ["1", "2"])
def test_sigterm(workers: str, unused_tcp_port: int, tmp_path: Path) -> None:
    executor = ThreadPoolExecutor()
    with serve(APP, unused_tcp_port, tmp_path, WORKERS=workers) as server, executor:
        assert server.send("GET", "/json") == (200, b'{"message":"Hello, World!"}')
        answer = executor.submit(server.send, "GET", "/sleep?ms=4000")
        time.sleep(1.5)
        server.process.send_signal(signal.SIGTERM)
        assert answer.result() == (200, b'{"slept_ms":4000}')
        assert server.process.wait(15) == 0
        with pytest.raises(ConnectionRefusedError):  # no worker is left
            server.send("GET", "/index")


def test_bad_settings() -> None:
    bad = {
        "PORT": "12abc",
        "WORKERS": "0",
        "MONGODB_POOL_SIZE": "-1",
        "DATABASE_POOL_SIZE": "3.5",
        "DATABASE_URL": "me:secret@host",
    }
    done = subprocess.run(APP, env=os.environ | bad, capture_output=True, text=True)
    assert done.returncode != 0
    assert bad.keys() <= set(done.stderr.splitlines())
    assert "secret" not in done.stderr


def test_env_file(tmp_path: Path) -> None:
    url = "mongodb://me:se$cret@db.example/refservers?authSource=admin&tls=false"
    (tmp_path / ".env").write_text(
        f"MONGODB_URL={url}\nFILES_DIR={tmp_path}\nSLOW_API_URL=http://host/\nWORKERS=3\nUNKNOWN=1\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "WORKERS": "2"}
    environment.pop("MONGODB_URL", None)
    code = "from app.settings import settings; print(settings.MONGODB_URL, settings.WORKERS)"
    output = subprocess.check_output([sys.executable, "-c", code], env=environment, cwd=tmp_path)
    assert output.decode().split() == [url, "2"]


def test_what_it_needs_is_away(unused_tcp_port: int, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        database = f"postgresql://me:secret@127.0.0.1:{port}/refservers"
        urls = {"DATABASE_URL": database, "SLOW_API_URL": f"http://127.0.0.1:{port}"}
        executor = ThreadPoolExecutor()
        with serve(APP, unused_tcp_port, tmp_path, **urls) as server, executor:
            start = time.monotonic()
            late = executor.submit(server.send, "GET", "/slow_api?calls=5&ms=0")
            assert server.send("GET", "/agents")[0] == 503
            assert late.result()[0] == 504
            assert time.monotonic() - start < 15
            log = server.log.read_text()
    assert [line.split(": ")[1] for line in log.splitlines() if " WARNING " in line] == [
        "503 GET /agents (127.0.0.1)",
        "504 GET /slow_api?calls=5&ms=0 (127.0.0.1)",
    ]
    assert "secret" not in log
    assert "Traceback" not in log


def test_requests(
    unused_tcp_port: int, tmp_path: Path, database: Database[dict[str, Any]], bare_file: str
) -> None:
    with serve(APP, unused_tcp_port, tmp_path) as server:
        status, note = server.send("POST", "/notes", '{"title":"a","text":""}')
        assert status == 201
        note_id = note.decode().split('"')[3]
        assert server.send("GET", f"/notes/{note_id}") == (200, note)
        assert database.notes.delete_one({"_id": ObjectId(note_id)}).deleted_count == 1
        assert server.send("POST", "/notes", '{"title":"","text":""}')[0] == 400

        for name in ("../server.toml", "..%2Fserver.toml", "%2Fetc%2Fpasswd"):
            assert server.send("GET", f"/files/{name}")[0] in (403, 404)

        file = database.fs.files.find_one({"filename": unquote(bare_file)}) or {}
        database.fs.chunks.delete_one({"files_id": file["_id"], "n": 1})
        with pytest.raises(http.client.IncompleteRead) as cut:
            server.send("GET", f"/gridfs/{bare_file}")
        assert cut.value.partial.strip(b"a") == b""
        database.fs.chunks.delete_one({"files_id": file["_id"], "n": 0})
        status, problem = server.send("GET", f"/gridfs/{bare_file}")
        assert status == 500
        assert b"CorruptGridFile" not in problem
        assert "gridfs.errors.CorruptGridFile: " in server.log.read_text()
        assert server.send("GET", "/index")[0] == 200
