"""A server that fails as its paths say, and loads to put on it."""

import asyncio
import contextlib
import itertools
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from bench.generators.interface import LoadResult, LoadSpec
from bench.workloads.load import Load

Client = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Put = Callable[..., LoadResult]  # Takes paths, and the changes of `load_spec`

SIZE = 2  # The length of most bodies
_requests = itertools.count(1)
_STATUSES = {b"/wrong": 500, b"/moved": 302}
_BODIES = {b"/short": b"h", b"/long": b"hi!", b"/unnamed-long": b"hi!", b"/image": b"hi" * 500}


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer requests as their paths say."""
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        for before in itertools.count():
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split()[1]
            count = next(_requests)
            if path == b"/sometimes" and count % 100 == 0:
                break
            if path == b"/never" or (path == b"/rarely" and count % 1000 == 0):
                await reader.read()
                break
            if path == b"/late" or (path == b"/late-once" and not before):
                await asyncio.sleep(1)
            is_last = path == b"/closing" or (path == b"/hundred" and before == 99)
            body = _BODIES.get(path, b"hi")
            reason = b"" if path.startswith(b"/unnamed") else b"X"
            head = b"HTTP/1.1 %d " + reason + b"\r\nContent-Length: %d\r\n"
            head += b"Connection: close\r\n\r\n" if is_last else b"\r\n"
            writer.write(head % (_STATUSES.get(path, 200), len(body)) + body)
            if is_last:
                break
    writer.close()


@contextlib.contextmanager
def in_thread(client: Client) -> Iterator[int]:
    """Serve each client in a thread's event loop; yield the port."""
    loop = asyncio.new_event_loop()

    async def start() -> tuple[asyncio.Server, int]:
        server = await asyncio.start_server(client, "127.0.0.1", 0, backlog=1024)
        return server, server.sockets[0].getsockname()[1]

    server, port = loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        for one in asyncio.all_tasks(loop):
            one.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def load_spec(folder: Path, port: int, *paths: str, **changes: Any) -> LoadSpec:
    """A load on a port; ``changes`` are of the load or of where it is put."""
    load: dict[str, Any] = {"model": "constant rate", "duration": 1.0, "calls": 1}
    load |= {"levels": [changes.pop("level", 200.0)]}
    load |= {name: changes.pop(name) for name in [*changes] if name in Load.model_fields}
    where: dict[str, Any] = {"url": f"http://127.0.0.1:{port}", "paths": paths}
    where |= {"folder": folder, "sizes": [SIZE] * len(paths)} | changes
    return LoadSpec(load=Load(**load), level=load["levels"][0], **where)
