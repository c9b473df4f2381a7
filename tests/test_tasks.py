"""The tasks as a user runs them."""

import json
import signal
import socket
from pathlib import Path

import pytest

import spec
from harness.console import say
from harness.services import backing_services
from harness.system.ports import accepts, free_port
from tests.interrupted import task
from tests.tasks import call, fetch, run

pytestmark = pytest.mark.timeout(300)


@pytest.mark.quick
def test_just_without_arguments_lists_the_tasks() -> None:
    done = run()
    assert done.returncode == 0
    for name in ("serve", "conform", "list", "setup", "doctor", "services", "test", "lint", "fmt"):
        assert name in done.stdout


@pytest.mark.quick
def test_list() -> None:
    assert "tornado/tornado" in call("list").stdout
    rows = json.loads(call("list", "--json").stdout)
    tornado = next(row for row in rows if row["name"] == "tornado")
    assert tornado["folder"] == "python/tornado"
    assert tornado["deployment"][0]["name"] == "tornado"


@pytest.mark.quick
def test_progress_has_no_styles_and_emojis(capsys: pytest.CaptureFixture[str]) -> None:
    say("2001:a::1 [red]")
    assert capsys.readouterr().err == "2001:a::1 [red]\n"


@pytest.mark.quick
def test_serve_and_stop(tmp_path: Path) -> None:
    """Ctrl-C leaves no process and no taken port. A test beside this one may use the services."""
    port = free_port()
    server = {"PORT": str(port)}
    with backing_services(), task("serve", "tornado", log=tmp_path / "log", env=server) as running:
        running.wait_for(lambda running: "Ctrl-C stops it" in running.output)
        for endpoint in spec.ENDPOINTS.values():
            assert f"curl -i 'http://127.0.0.1:{port}{endpoint.example}'" in running.output
        assert f"'http://127.0.0.1:{port}/notes'" in running.output
        for path in ("/index", "/json", "/mongo?doc=big", "/agents", "/gridfs/photo.jpg"):
            fetch(f"http://127.0.0.1:{port}{path}")
        running.signal(signal.SIGINT)
        running.require_gone()
        assert running.process.returncode == 130
    assert not accepts("127.0.0.1", port)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("words", "env", "message"),
    [
        (("serve", "tornadoo"), {}, "did you mean tornado"),
        (("serve", "tornado/fast"), {}, "there is no server"),
        (("conform", "http://127.0.0.1:9"), {}, "cannot be reached"),
        (("conform", "https://example.org"), {}, "http://HOST:PORT"),
        (("serve", "tornado"), {"PORT": "eighty"}, "PORT must be a number"),
        (("serve", "tornado"), {"WORKERS": "0"}, "WORKERS must be a number"),
        (("serve", "tornado"), {"THREADS": "many"}, "THREADS must be a number"),
        (("serve", "tornado"), {"DATABASE_POOL_SIZE": "-1"}, "DATABASE_POOL_SIZE must be"),
        (("serve", "tornado"), {"FILES_DIR": "/nonexistent"}, "FILES_DIR must be a folder"),
        (("serve", "tornado"), {"HOST": "[::1]"}, "HOST: [::1] is no address"),
        (("serve", "tornado"), {"HOST": ".."}, "HOST: .. is no address"),
        (("serve", "tornado"), {"MONGODB_URL": "mongodb://127.0.0.1:9/refservers"}, "MONGODB_URL"),
        (("serve", "tornado"), {"MONGODB_URL": "mongodb://127.0.0.1:9"}, "must name the database"),
        (("serve", "tornado"), {"DATABASE_URL": "postgresql://me@127.0.0.1:9/x"}, "DATABASE_URL"),
        (("serve", "tornado"), {"MONGODB_URL": "mongodb://me:SECRET@h:80x/x"}, "MONGODB_URL is"),
        (("serve", "tornado"), {}, "cannot listen on 127.0.0.1:{port}"),
        (("serve", "all"), {}, "give one server, not all"),
        (("conform", "127.0.0.1:8000"), {}, "did you mean http://127.0.0.1:8000?"),
        (("behaviours", "nginx", "--page", "/etc/passwd/file.html"), {}, "/etc/passwd"),
        (("behaviours", "nginx", "--page", "/tmp"), {}, "/tmp: Is a directory"),
        (("new",), {}, "--skeleton"),
        (("new", "tornado"), {}, "--skeleton"),
        (("new", "--skeleton", "python/a", "tornado"), {}, "--skeleton"),
        (("new", "--name", "a"), {}, "--skeleton"),
    ],
)
def test_bad_usage_is_reported_in_one_line(
    words: tuple[str, ...], env: dict[str, str], message: str
) -> None:
    """Even if the port is taken: settings are checked first."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = call(*words, env={"PORT": port, **env})
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    assert message.format(port=port) in last
    assert "Topology" not in last
    assert "SECRET" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "starting" not in done.stderr, "before any database is started"
