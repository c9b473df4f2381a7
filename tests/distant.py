"""A server and its database, to run on hosts of their own.

``database HOST PORT`` answers each line after 50 ms; ``server HOST PORT DATABASE`` asks it for each
request. ``frozen HOST PORT`` asks nothing, and stands still for the last second of every four.
"""

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from harness.paths import ROOT
from harness.system.ports import accepts
from harness.system.processes import spawn, stop, wait_until
from tests.namespaces import Host

DATABASE_PORT = 5432
DELAY = 0.05
PERIOD, FREEZE = 4.0, 1.0
_RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


async def _query(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        await asyncio.sleep(DELAY)
        writer.write(line)


async def _freeze() -> None:
    loop = asyncio.get_running_loop()
    start = loop.time()
    while True:
        start += PERIOD
        await asyncio.sleep(start - FREEZE - loop.time())
        time.sleep(start - loop.time())


async def main(role: str, host: str, port: str, database: str | None = None) -> None:
    """Serve until killed."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if database:
            rows, queries = await asyncio.open_connection(database, DATABASE_PORT)
        while await reader.readline():
            while await reader.readline() != b"\r\n":
                pass
            if database:
                queries.write(b"query\n")
                await rows.readline()
            writer.write(_RESPONSE)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await (_query if role == "database" else answer)(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(connected, host, int(port), backlog=1024) as server:
        if role == "frozen":
            await _freeze()
        await server.serve_forever()


@contextmanager
def serving(role: str, host: str, port: int, *more: str, on: Host | None = None) -> Iterator[None]:
    """Run it as a process, on a host of a network or on this one."""
    script = [sys.executable, "-m", "tests.distant", role, host, str(port), *more]
    command = on.command(*script) if on else script
    process = spawn(command, cwd=ROOT, env=os.environ)
    try:
        ready = on.call if on else (lambda check: check())
        assert wait_until(lambda: ready(lambda: accepts(host, port)), timeout=20)
        yield
    finally:
        stop(process, grace=1)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
