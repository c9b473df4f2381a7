"""A server that stands still for two of every three seconds: ``python -m tests.frozen PORT``."""

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from harness.paths import ROOT
from harness.system.ports import accepts
from harness.system.processes import spawn, stop, wait_until

PERIOD, FREEZE = 3.0, 2.0
_RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while await reader.readline():
            while await reader.readline() != b"\r\n":
                pass
            writer.write(_RESPONSE)
    except ConnectionError:
        pass
    finally:
        writer.close()


async def main(port: str) -> None:
    """Serve until killed."""
    loop = asyncio.get_running_loop()
    async with await asyncio.start_server(_answer, "127.0.0.1", int(port), backlog=1024):
        start = loop.time()
        while True:
            start += PERIOD
            await asyncio.sleep(start - FREEZE - loop.time())
            time.sleep(start - loop.time())


@contextmanager
def freezing(port: int) -> Iterator[None]:
    """Run it as a process of its own."""
    command = [sys.executable, "-m", "tests.frozen", str(port)]
    process = spawn(command, cwd=ROOT, env=os.environ)
    try:
        assert wait_until(lambda: accepts("127.0.0.1", port), timeout=20)
        yield
    finally:
        stop(process, grace=1)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
