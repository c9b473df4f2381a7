"""Attackers beside good clients: of a server that bears them, and of one that does not."""

import asyncio
import os
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from bench.generators import GeneratorError, generate, prepare
from bench.generators.attackers import ATTACKS, attacking
from bench.workloads.workload import Attack
from harness.system.ports import free_port
from harness.system.processes import raise_limits, wait_until
from tests.loads import Client, answer, in_thread, load_spec

pytestmark = pytest.mark.timeout(180)

SENT: dict[Attack, bytes] = {
    "slow senders": b"GET /index HTTP/1.1\r\nHost: localhost\r\nX-Slow: x",
    "slow readers": b"GET /files/big.bin HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "idle connections": b"",
    "malformed requests": b"GET /index HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
}


@pytest.fixture(scope="module", autouse=True)
def _limits() -> None:
    raise_limits()


@pytest.mark.quick
@pytest.mark.parametrize("kind", ATTACKS)
def test_each_attack_ends_with_its_block(
    tmp_path: Path, kind: Attack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has as many connections as it says, each of which sends what it is to send."""
    monkeypatch.setitem(ATTACKS, kind, ATTACKS[kind]._replace(arrival=0.0))
    received: list[bytes] = []
    ended: list[bool] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readexactly(len(SENT[kind])))
        while await reader.read(1000):
            pass
        ended.append(True)
        writer.close()

    count = ATTACKS[kind].connections
    with in_thread(listen) as port:
        with attacking(kind, port, tmp_path) as attackers:
            assert wait_until(lambda: len(received) == count, timeout=20)
            assert not ended
        assert wait_until(lambda: len(ended) == count, timeout=20)
        assert len(received) == count
        assert not any(one.is_running() for one in attackers)
    assert set(received) == {SENT[kind]}


@pytest.mark.quick
def test_a_load_begins_once_attackers_have_come_and_they_must_not_end(tmp_path: Path) -> None:
    kind: Attack = "idle connections"
    began = time.monotonic()
    with ExitStack() as stack:
        attackers = stack.enter_context(attacking(kind, free_port(), tmp_path))
        assert time.monotonic() - began > ATTACKS[kind].arrival
        attackers[0].kill()
        os.waitid(os.P_PID, attackers[0].pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(GeneratorError, match="attackers: killed by SIGKILL"):
            stack.close()


def one_at_a_time() -> Client:
    """Answers a client, or waits for its request for a second, before it turns to the next."""
    turn = asyncio.Lock()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError):
            async with turn, asyncio.timeout(1):
                await reader.readuntil(b"\r\n\r\n")
                writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi")
        writer.close()

    return client


@pytest.mark.parametrize(("client", "bears_it"), [(answer, True), (one_at_a_time(), False)])
def test_idle_connections_starve_who_serves_one_at_a_time(
    tmp_path: Path, client: Client, bears_it: bool
) -> None:
    prepare()
    load = {"level": 20.0, "duration": 1.0, "timeout": 3.0, "keep_alive": bears_it}
    with in_thread(client) as port:
        for kind in (None, "idle connections"):
            with attacking(kind, port, tmp_path):
                found = generate(load_spec(tmp_path, port, "/", **load))
            served = bears_it or kind is None
            assert found.latency
            assert (found.latency.p99 is not None) == served, "over the timeout"
