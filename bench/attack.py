"""``./just attack NAME``: how a server answers good clients while others attack it.

Good clients ask at half of the rate that the server reaches. They are measured before, during and
after an attack, which comes from this process, is bounded in connections and time, and only ever
goes to a server that this task has started on 127.0.0.1.
"""

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.table import Table

from bench.analysis.words import figure_text
from bench.generators import LoadResult, LoadSpec, generate, prepare
from bench.measuring.runner import alone, require_conformance
from bench.records.histogram import merged
from bench.workloads.load import Load
from harness.console import result, say
from harness.servers.catalog import Target, find_targets
from harness.servers.running import running
from harness.services import Services, backing_services
from harness.system.ports import free_port
from harness.system.processes import raise_limits
from harness.system.scratch import scratch
from harness.task import reports_errors

HOST = "127.0.0.1"
PROMPT = 100.0  # Milliseconds within which a good request is to be answered
_CONNECTIONS = 50  # Of good clients, and of the load that shows what a server reaches
_MOST = 5_000.0  # Good requests per second that the load generator sends on time
_TIMEOUT = 5.0  # Seconds after which a good request counts as failed
_ARRIVAL = 2.0  # Seconds in which the attackers connect, before good clients are measured again
_BREAK = 0.05  # Seconds until an attacker that was refused or cut off comes again
_BIG = "big.bin"  # A file that no buffer holds
_REQUEST = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n"


async def _send_slowly(client: socket.socket) -> None:
    """Send a byte of a header each second."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(client, _REQUEST % b"index" + b"X-Slow: ")
    while True:
        await loop.sock_sendall(client, b"x")
        await asyncio.sleep(1)


async def _read_slowly(client: socket.socket) -> None:
    """Ask for a big file, and read a byte of it each second."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(client, _REQUEST % f"files/{_BIG}".encode() + b"\r\n")
    while await loop.sock_recv(client, 1):
        await asyncio.sleep(1)


async def _stay(client: socket.socket) -> None:
    """Send nothing until the server closes the connection."""
    await asyncio.get_running_loop().sock_recv(client, 1)


async def _malform(client: socket.socket) -> None:
    """Send one malformed request after another."""
    loop = asyncio.get_running_loop()
    answer = b"-"
    while answer:
        await loop.sock_sendall(client, _REQUEST % b"index" + b"no colon\r\n\r\n")
        answer = await loop.sock_recv(client, 1 << 16)


# Each attack: how many connections do what
ATTACKS: dict[str, tuple[int, Callable[[socket.socket], Awaitable[None]]]] = {
    "slow-senders": (500, _send_slowly),
    "slow-readers": (500, _read_slowly),
    "idle": (1_000, _stay),
    "malformed": (50, _malform),
}


@contextmanager
def attacking(kind: str, port: int) -> Iterator[None]:
    """Attack a server of this machine inside the block."""
    loop = asyncio.new_event_loop()
    count, behave = ATTACKS[kind]
    clients = [loop.create_task(_come_again(behave, port)) for _ in range(count)]
    everything = asyncio.gather(*clients, return_exceptions=True)
    thread = threading.Thread(target=loop.run_until_complete, args=(everything,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        for client in clients:
            loop.call_soon_threadsafe(client.cancel)
        thread.join()
        loop.close()


async def _come_again(behave: Callable[[socket.socket], Awaitable[None]], port: int) -> None:
    while True:
        with suppress(OSError), socket.socket() as client:
            client.setblocking(False)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            await asyncio.get_running_loop().sock_connect(client, (HOST, port))
            await behave(client)
        await asyncio.sleep(_BREAK)


@dataclass(frozen=True)
class Served:
    """How good clients were served."""

    prompt: float  # The share of requests that were answered within `PROMPT`
    p99: float | None  # Milliseconds; None if it is over the timeout

    @classmethod
    def of(cls, load: LoadResult) -> "Served":
        """A load's; one that sent nothing was served none."""
        prompt = merged([load.histogram]).within(PROMPT) / (load.attempts or 1)
        return cls(prompt, load.latency.p99 if load.latency else None)


def under_attack(
    kind: str, port: int, folder: Path, seconds: float, *, keep_alive: bool
) -> dict[str, Served]:
    """How good clients are served before, during and after an attack, for some seconds each.

    ``folder`` is for the load generator's files, and ``keep_alive`` whether the server keeps
    connections. Raises :class:`GeneratorError` if the load generator fails.
    """

    def put(**load: object) -> LoadResult:
        own = Load.model_validate({"timeout": _TIMEOUT, "duration": seconds, **load})
        spec = LoadSpec(
            url=f"http://{HOST}:{port}",
            paths=["/index"],
            load=own,
            level=own.levels[0],
            folder=folder,
            keep_alive=keep_alive,
            clients=_CONNECTIONS,
        )
        return generate(spec)

    reached = put(model="closed", levels=[_CONNECTIONS])
    rate = min(max(reached.requests / reached.seconds / 2, 1), _MOST)
    say(f"{kind}: {rate:.0f} good requests/s")
    good = {"model": "constant rate", "levels": [rate]}
    found = {"before": Served.of(put(**good))}
    with attacking(kind, port):
        threading.Event().wait(_ARRIVAL)
        found["during"] = Served.of(put(**good))
    return found | {"after": Served.of(put(**good))}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, required=True, metavar="NAME[/DEPLOYMENT]...")
@click.option("--by", type=click.Choice([*ATTACKS]), help="One attack; the default is all.")
@click.option("--seconds", type=click.FloatRange(1, 60), default=10.0, show_default=True)
@click.option("--json", "to_json", is_flag=True, help="Print JSON.")
@reports_errors
def main(names: tuple[str, ...], by: str | None, seconds: float, to_json: bool) -> None:
    """Show how servers answer good clients while others attack them.

    Good clients send half of the requests that the server reaches with 50 connections, 5,000/s at
    most, for some SECONDS before, during and after each attack. Servers have passed conformance.
    """
    targets = find_targets(names)
    raise_limits()
    prepare()
    with alone(), backing_services() as backing:
        require_conformance(targets)
        found = {
            (target.name, kind, when): served
            for target in targets
            for kind in ([by] if by else ATTACKS)
            for when, served in _attacked(target, kind, backing, seconds).items()
        }
    if to_json:
        heads = ("server", "attack", "when")
        rows = [dict(zip(heads, key, strict=True)) | asdict(one) for key, one in found.items()]
        click.echo(json.dumps(rows, indent=2))
        return
    table = Table("server", "attack", "when", "within 100 ms", "p99 ms", box=None, pad_edge=False)
    for key, one in found.items():
        p99 = "over the timeout" if one.p99 is None else figure_text(one.p99)
        table.add_row(*key, f"{one.prompt:.1%}", p99)
    result.print(table)


def _attacked(target: Target, kind: str, backing: Services, seconds: float) -> dict[str, Served]:
    """The same of a server that is freshly started."""
    with scratch("attack") as folder, (folder / "server.log").open("w") as log:
        files = folder / "files"
        files.mkdir()
        with (files / _BIG).open("wb") as big:
            big.truncate(16_000_000)
        port = free_port()
        own = {"HOST": HOST, "PORT": str(port), "WORKERS": "1", "FILES_DIR": str(files)}
        with running(target, backing.environment() | own, output=log):
            keep_alive = target.deployment.keep_alive
            return under_attack(kind, port, folder, seconds, keep_alive=keep_alive)


if __name__ == "__main__":
    main(prog_name="just attack")
