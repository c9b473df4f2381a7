"""Good clients beside others that attack: on a server that bears it, and on one that does not."""

import http.server
import json
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import attack
from bench.attack import ATTACKS, attacking, under_attack
from bench.generators import prepare
from harness.system.ports import free_port
from harness.system.processes import wait_until
from tests.handlers import Quiet
from tests.loads import serving
from tests.tasks import run

pytestmark = pytest.mark.timeout(180)


class _Index(Quiet):
    def do_GET(self) -> None:
        self.respond(200, b"hi")


@contextmanager
def one_at_a_time() -> Iterator[int]:
    """A server that a single idle connection occupies, until it has waited for a second."""

    class Handler(_Index):
        timeout = 1.0
        protocol_version = "HTTP/1.0"

    class Server(http.server.HTTPServer):
        request_queue_size = 1024

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module", autouse=True)
def _generators() -> None:
    prepare()


@pytest.mark.parametrize("bears_it", [True, False])
def test_idle_connections_starve_who_serves_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bears_it: bool
) -> None:
    monkeypatch.setattr(attack, "_MOST", 20.0)
    monkeypatch.setitem(ATTACKS, "idle", (30, ATTACKS["idle"][1]))
    server: Callable[..., object] = serving if bears_it else one_at_a_time
    with server() as port:  # type: ignore[attr-defined]
        found = under_attack("idle", port, tmp_path, seconds=2, keep_alive=bears_it)
    assert list(found) == ["before", "during", "after"]
    assert found["before"].prompt > 0.8
    assert (found["during"].prompt > 0.8) == bears_it
    if not bears_it:
        assert found["during"].p99 is None, "over the timeout"


@pytest.mark.quick
@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        ("slow-senders", b"GET /index HTTP/1.1\r\nHost: localhost\r\nX-Slow: x"),
        ("slow-readers", b"GET /files/big.bin HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        ("idle", b""),
        ("malformed", b"GET /index HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n"),
    ],
)
def test_each_attack_ends_with_its_block(
    monkeypatch: pytest.MonkeyPatch, kind: str, sent: bytes
) -> None:
    """It has as many connections as it says, each of which sends what it is to send."""
    monkeypatch.setitem(ATTACKS, kind, (9, ATTACKS[kind][1]))
    received: list[bytes] = []
    ended: list[bool] = []

    class Listening(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            data = b""
            while len(data) < len(sent):
                data += self.request.recv(1000)
            received.append(data)
            self.request.settimeout(10)
            while self.request.recv(1000):
                pass
            ended.append(True)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 1024

    with listening(Server(("127.0.0.1", 0), Listening)) as port:
        with attacking(kind, port):
            assert wait_until(lambda: len(received) == 9, timeout=5)
            time.sleep(0.2)
        assert len(received) == 9
        assert wait_until(lambda: len(ended) == 9, timeout=5)
    assert {one[: len(sent)] for one in received} == {sent}


@contextmanager
def listening(server: socketserver.TCPServer) -> Iterator[int]:
    threading.Thread(target=server.serve_forever, args=(0.05,)).start()
    with server:
        yield int(server.server_address[1])
        server.shutdown()


@pytest.mark.quick
def test_an_attack_on_nobody_ends_too() -> None:
    with attacking("malformed", free_port()):
        time.sleep(0.3)


@pytest.mark.alone
def test_an_attack_on_a_server_of_ours() -> None:
    done = run("attack", "nginx", "--by", "malformed", "--seconds", "1", "--json", timeout=150)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    keys = [(one["server"], one["attack"], one["when"]) for one in found]
    assert keys == [("nginx/nginx", "malformed", when) for when in ("before", "during", "after")]
    assert found[0]["prompt"] > 0.8
