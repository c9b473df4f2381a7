"""Running a server: its environment, its settings, and errors at its start."""

import itertools
import json
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench.measuring.trial import settings_in
from conformance.address import mongodb
from conformance.proxy import Proxy
from harness.errors import TaskError, UsageError
from harness.servers.catalog import Target, find_target
from harness.servers.running import running
from harness.servers.settings import DEFAULTS, environment
from harness.system.ports import free_port
from tests.manifests import write_server
from tests.programs import execute

pytestmark = pytest.mark.quick

# It has started once it answers at all: its 404 is for the conformance suite to judge
SERVER = """
import http.server, json, os, sys

class Environment(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open("seen.json", "w") as file:
            json.dump(dict(os.environ), file)
        self.send_response(404)
        self.end_headers()
port = int(os.environ["PORT"]) if len(sys.argv) < 2 else int(sys.argv[1])
http.server.HTTPServer(("127.0.0.1", port), Environment).serve_forever()
"""


def target(folder: Path, *run: str, passes: tuple[str, ...] = ()) -> Target:
    (folder / "serve.py").write_text(SERVER)
    write_server(folder, *run, more=f"passes = {json.dumps(passes)}")
    return find_target(str(folder))


def test_the_caller_s_environment_stays_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strange = ("GUNICORN_CMD_ARGS", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "WEB_CONCURRENCY")
    for name in (*strange, "MINE"):
        monkeypatch.setenv(name, "from the caller")
    monkeypatch.setenv("THREADS", "7")
    one = target(tmp_path, sys.executable, "serve.py", passes=("MINE",))
    with running(one, {"PORT": str(free_port())}) as server:
        seen = json.loads((tmp_path / "seen.json").read_text())
    assert not set(strange) & set(seen)
    assert (seen["MINE"], seen["THREADS"]) == ("from the caller", "50")
    # A shell in between adds the folder.
    assert {name: seen[name] for name in seen if name not in ("PWD", "OLDPWD")} == (
        server.environment
    )


def test_a_server_that_ignores_its_port_gets_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a line that says what is waited for."""
    monkeypatch.setattr("harness.servers.running._SILENT", 0.2)
    monkeypatch.setattr("harness.servers.running._START", 1.0)
    port, other, told = free_port(), free_port(), list[str]()
    one = target(tmp_path, sys.executable, "serve.py", str(other))
    message = f"did not answer /index on port {port} within 1 s: .* the setting PORT"
    settings = {"PORT": str(port)}
    with pytest.raises(TaskError, match=message), running(one, settings, tell=told.append):
        pass
    assert told == [f"waiting for {one.name} to answer /index; 1 s at most"]


def test_a_configuration_may_be_in_a_folder(tmp_path: Path) -> None:
    one = target(tmp_path, "true")
    (tmp_path / "conf").mkdir()
    (tmp_path / "serve.py").rename(tmp_path / "conf" / "serve.py")
    changes = {"run": [sys.executable, "{config}"], "config": "conf/serve.py"}
    one = replace(one, deployment=one.deployment.model_copy(update=changes))
    with running(one, {"PORT": str(free_port())}):
        pass


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    one, settings = target(tmp_path, "no-such-program"), {"PORT": str(free_port())}
    with pytest.raises(UsageError, match="no-such-program"), running(one, settings):
        pass


def test_a_result_has_no_secret_of_a_server_s_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "-Djavax.net.ssl.trustStorePassword=SECRET")
    settings = {
        "DATABASE_URL": "postgresql://host/db?user=me&password=SECRET",
        "MONGODB_URL": "mongodb://me:SECRET@host/db?tlsCertificateKeyFilePassword=SECRET",
    }
    given = environment(target(tmp_path, "true", passes=("MINE",)), settings)
    assert "SECRET" in given["MINE"]
    shown = {"DATABASE_URL": "postgresql://host/db", "MONGODB_URL": "mongodb://host/db"}
    assert settings_in(given) == DEFAULTS | shown


def test_two_processes_are_not_given_the_same_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither has listened on it yet: servers take seconds to do so."""
    monkeypatch.setattr("harness.system.ports._offsets", itertools.count())
    given = free_port()
    start = "from harness.system import ports; ports._offsets = ports.itertools.count(); "
    other = execute(sys.executable, "-c", start + "print(ports.free_port())").stdout
    assert int(other) != given


def test_a_proxy_takes_the_next_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that another thread is starting may hold the port that it was given."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        ports = [held.getsockname()[1], free := free_port()]
        monkeypatch.setattr("conformance.proxy.free_port", iter(ports).__next__)
        with Proxy(mongodb("mongodb://127.0.0.1:9/none")).running() as proxy:
            assert proxy.port == free
