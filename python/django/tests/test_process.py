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
from typing import NamedTuple

import pytest
from bson import ObjectId

from api.databases import mongodb

WSGI = [sys.executable, "-m", "gunicorn"]
ASGI = [*WSGI, "refservers.asgi", "--worker-class", "uvicorn_worker.UvicornWorker"]


class Server(NamedTuple):
    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def send(self, method: str, target: str, body: str | list[bytes] = "") -> tuple[int, bytes]:
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
        server = Server(process, port, log)
        assert server.send("GET", "/index")[0] == 200  # the worker has started, too
        yield server
    finally:
        process.terminate()  # so that no worker is left
        try:
            process.wait(15)
        finally:
            process.kill()


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            assert process.poll() is None
            time.sleep(0.05)
    raise TimeoutError


@pytest.mark.parametrize("command", [WSGI, ASGI], ids=["wsgi", "asgi"])
def test_sigterm(command: list[str], port: int, tmp_path: Path) -> None:
    with serve(command, port, tmp_path) as server, ThreadPoolExecutor() as executor:
        assert server.send("GET", "/json") == (200, b'{"message":"Hello, World!"}')
        answer = executor.submit(server.send, "GET", "/sleep?ms=4000")
        time.sleep(1.5)
        server.process.send_signal(signal.SIGTERM)
        assert answer.result() == (200, b'{"slept_ms":4000}')
        assert server.process.wait(15) == 0


def test_bad_settings() -> None:
    bad = {
        "PORT": "12abc",
        "WORKERS": "0",
        "MONGODB_POOL_SIZE": "-1",
        "DATABASE_POOL_SIZE": "3.5",
        "DATABASE_URL": "me:secret@host",
        "SLOW_API_URL": "nonsense",
    }
    done = subprocess.run(WSGI, env=os.environ | bad, capture_output=True, text=True)
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert all(repr(name) in last for name in bad)
    assert "secret" not in done.stderr


def test_env_file(tmp_path: Path) -> None:
    url = "mongodb://me:se$cret@db.example/refservers?authSource=admin&tls=false"
    (tmp_path / ".env").write_text(
        f"MONGODB_URL={url}\nFILES_DIR={tmp_path}\nSLOW_API_URL=http://host/\nWORKERS=3\nUNKNOWN=1\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "WORKERS": "2"}
    environment.pop("MONGODB_URL", None)
    code = "from refservers import settings; print(settings.MONGODB_URL, settings.WORKERS)"
    output = subprocess.check_output([sys.executable, "-c", code], env=environment, cwd=tmp_path)
    assert output.decode().split() == [url, "2"]


def test_what_it_needs_is_away(port: int, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        urls = {
            "DATABASE_URL": f"postgresql://me:secret@{place}/refservers",
            "SLOW_API_URL": f"http://{place}",
        }
        executor = ThreadPoolExecutor()
        with serve(WSGI, port, tmp_path, **urls) as server, executor:
            start = time.monotonic()
            late = executor.submit(server.send, "GET", "/slow_api?calls=5&ms=0")
            assert server.send("GET", "/agents")[0] == 503
            assert late.result()[0] == 504
            assert time.monotonic() - start < 15
            log = server.log.read_text()
    assert [line.split(": ")[1] for line in log.splitlines() if " ERROR " in line] == [
        "'/agents'",
        "'/slow_api'",
    ]
    assert "secret" not in log
    assert "Traceback" not in log


@pytest.mark.parametrize("command", [WSGI, ASGI], ids=["wsgi", "asgi"])
def test_requests(command: list[str], port: int, tmp_path: Path, bare_file: str) -> None:
    with serve(command, port, tmp_path) as server:
        status, note = server.send("POST", "/notes", '{"title":"a","text":""}')
        assert status == 201
        note_id = note.decode().split('"')[3]
        assert server.send("GET", f"/notes/{note_id}") == (200, note)
        assert mongodb.notes.delete_one({"_id": ObjectId(note_id)}).deleted_count == 1
        assert server.send("POST", "/notes", '{"title":"","text":""}')[0] == 400
        assert server.send("POST", "/notes", " " * (2**20 + 1))[0] == 413

        for name in ("../server.toml", "..%2Fserver.toml", "%2Fetc%2Fpasswd"):
            assert server.send("GET", f"/files/{name}")[0] == 404

        file = mongodb.fs.files.find_one({"filename": bare_file}) or {}
        mongodb.fs.chunks.delete_one({"files_id": file["_id"], "n": 1})
        with pytest.raises(http.client.IncompleteRead) as cut:
            server.send("GET", f"/gridfs/{bare_file}")
        assert cut.value.partial.strip(b"a") == b""
        mongodb.fs.chunks.delete_one({"files_id": file["_id"], "n": 0})
        assert server.send("GET", f"/gridfs/{bare_file}")[0] == 500
        assert server.log.read_text().count("CorruptGridFile: ") == 2
        assert server.send("GET", "/index")[0] == 200
