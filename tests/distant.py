"""A server and its database, to run on hosts of their own.

``database HOST PORT`` answers each line after 50 ms; ``server HOST PORT DATABASE`` asks it for each
request. ``frozen HOST PORT`` asks nothing, and stands still for the last second of every four.
"""

import asyncio
import sys
import time

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


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
