"""A TCP proxy between a server and its database: it counts, and it can play an outage.

Every run has proxies of its own, so that an outage touches no other task that uses the database.
"""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Literal
from urllib.parse import urlsplit

State = Literal["open", "refusing", "hanging"]


class Proxy:
    """Forwards one loopback port to a database."""

    def __init__(self, url: str, default_port: int) -> None:
        """Forward to the host and port in ``url``; listen from :meth:`start` on."""
        parts = urlsplit(url)
        self._upstream = (parts.hostname or "127.0.0.1", parts.port or default_port)
        self._original = parts
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._links: set[asyncio.StreamWriter] = set()
        self._flowing = asyncio.Event()
        self.port = 0
        self.connections = 0
        """How many the server has opened."""
        self.received = 0
        """Bytes that the database has sent."""

    @property
    def url(self) -> str:
        """The database's address through this proxy."""
        user, at, _ = self._original.netloc.rpartition("@")
        return self._original._replace(netloc=f"{user}{at}127.0.0.1:{self.port}").geturl()

    @contextmanager
    def running(self) -> Iterator["Proxy"]:
        """Forward for a while, in a thread of its own."""
        thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        thread.start()
        try:
            self._call(self._open())
            yield self
        finally:
            self._call(self._close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    def set(self, state: State) -> None:
        """Forward again; or refuse connections and cut those there are; or let all hang."""
        self._call(self._set(state))

    def _call(self, coroutine: Coroutine[None, None, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _set(self, state: State) -> None:
        if state == "hanging":
            self._flowing.clear()
            return
        await self._close()
        if state == "open":
            await self._open()

    async def _open(self) -> None:
        self._flowing.set()
        if self._server is None:
            self._server = await asyncio.start_server(self._forward, "127.0.0.1", self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for link in list(self._links):
            link.transport.abort()
        self._flowing.set()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._links.add(writer)
        try:
            await self._flowing.wait()
            back_reader, back_writer = await asyncio.open_connection(*self._upstream)
        except OSError:
            writer.transport.abort()
            self._links.discard(writer)
            return
        self._links.add(back_writer)
        await asyncio.gather(
            self._pump(reader, back_writer, counted=False),
            self._pump(back_reader, writer, counted=True),
        )
        self._links -= {writer, back_writer}

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counted: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                await self._flowing.wait()
                self.received += len(data) if counted else 0
                writer.write(data)
                await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()
