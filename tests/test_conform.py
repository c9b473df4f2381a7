"""`conform` on servers that are not ours, and its output when behaviours change."""

import http.server
import json
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from harness.catalog import find_target
from harness.paths import ROOT
from harness.ports import free_port
from tests.handlers import served
from tests.tasks import run, started

pytestmark = pytest.mark.timeout(600)


class Hello(http.server.BaseHTTPRequestHandler):
    """A server that has only /index."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b"Hello, World!" if self.path == "/index" else b"?"
        self.send_response(200 if self.path == "/index" else 404)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def greeted() -> Iterator[Future[CompletedProcess[str]]]:
    """The suite on a hello server, which takes long and runs beside the tests of this file."""
    with served(Hello) as url, ThreadPoolExecutor(1) as pool:
        yield pool.submit(run, "conform", url, "--json")


@pytest.mark.usefixtures("greeted")
def test_python_s_own_server() -> None:
    with served(http.server.SimpleHTTPRequestHandler) as url:
        done = run("conform", url)
    assert done.returncode == 1
    assert "lacks" in done.stdout
    assert "/mongo" in done.stdout
    assert f"{url} behaves like this" in done.stdout
    assert "server-header: name and version" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.quick
def test_a_failure_is_shown_with_its_curl_line() -> None:
    with served(http.server.BaseHTTPRequestHandler) as url:
        done = run("conform", url, "-k", "test_json")
    assert done.returncode == 1
    assert "expected  200" in done.stdout
    assert "got       501" in done.stdout
    assert f"curl -i --path-as-is {url}/json" in done.stdout


@pytest.mark.quick
def test_a_selection_without_a_check() -> None:
    with served(http.server.BaseHTTPRequestHandler) as url:
        done = run("conform", url, "-k", "no_such_check")
    assert done.returncode == 2
    assert "-k: no check matches 'no_such_check'" in done.stderr


@pytest.mark.quick
def test_a_failure_to_start_is_reported_once(tmp_path: Path) -> None:
    """Exit status 2 and one line, not one for each check."""
    manifest = (ROOT / "tests" / "servers" / "wrong" / "server.toml").read_text()
    run_line = 'run = ["../../../.venv/bin/python", "main.py"]'
    assert run_line in manifest
    text = manifest.replace(run_line, 'run = ["sh", "-c", "echo the reason; exit 3"]')
    (tmp_path / "server.toml").write_text(text.split("# The same")[0])
    done = run("conform", str(tmp_path))
    assert done.returncode == 2
    assert done.stdout.count("ended during startup: exit status 3") == 1
    assert "the reason" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_server_of_ours_at_an_address(tmp_path: Path) -> None:
    port = free_port()
    with started(
        "serve", "aiohttp", log=tmp_path / "log", until="Ctrl-C stops it", env={"PORT": str(port)}
    ):
        done = run("conform", f"http://127.0.0.1:{port}", "-k", "text or mongo")
    assert done.returncode == 0
    assert "need a server that is started here" in done.stdout


def test_a_folder_anywhere(tmp_path: Path) -> None:
    """Its behaviours are shown, not compared."""
    shutil.copytree(ROOT / "baseline" / "nginx", tmp_path / "mine")
    (tmp_path / "mine" / "behaviours.json").unlink()
    done = run("conform", str(tmp_path / "mine"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mine/nginx behaves like this" in done.stdout


@pytest.fixture
def record() -> Iterator[Path]:
    """The record of nginx, which is restored at the end."""
    path = find_target("nginx").server.folder / "behaviours.json"
    before = path.read_text()
    yield path
    path.write_text(before)


def test_a_changed_behaviour_is_named_with_the_version_that_changed(record: Path) -> None:
    recorded = json.loads(record.read_text())
    recorded["nginx"]["answers"]["trailing-slash"] = "served"
    recorded["nginx"]["seen_on"]["nginx"] = "0.1.0"
    record.write_text(json.dumps(recorded))
    done = run("conform", "nginx")
    assert done.returncode == 1
    assert "trailing-slash" in done.stdout
    assert "recorded  served\nseen      not found" in done.stdout
    assert "nginx 0.1.0 → " in done.stdout
    again = run("conform", "nginx", "--record")
    assert again.returncode == 0, again.stdout + again.stderr
    text = record.read_text()
    assert json.loads(text)["nginx"]["answers"]["trailing-slash"] == "not found"
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def test_behaviours() -> None:
    done = run("behaviours", "nginx", "--group", "smuggling")
    assert done.returncode == 0
    assert "length-and-chunked" in done.stdout
    everything = json.loads(run("behaviours", "--json").stdout)
    assert [row["differs"] for row in everything] == sorted(
        (row["differs"] for row in everything), reverse=True
    )
    assert {"nginx/nginx", "aiohttp/aiohttp"} <= everything[0]["answers"].keys()
    unknown = run("behaviours", "--group", "smugling")
    assert unknown.returncode == 2
    assert "the groups are routing" in unknown.stderr


def test_a_hello_server(greeted: Future[CompletedProcess[str]]) -> None:
    (verdict,) = json.loads(greeted.result().stdout)
    outcomes = {check["name"]: check["outcome"] for check in verdict["checks"]}
    assert outcomes["test_index"] == "passed"
    assert outcomes["test_json"] == "failed"
    assert verdict["behaviours"]["trailing-slash"] == "not found"
    assert not verdict["unanswered"]
