"""A TCP proxy between a server and its database: it counts, and it can simulate an outage.

Every run has proxies of its own, so that an outage does not affect other tasks.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Literal

from conformance.address import Address
from harness.system.ports import free_port

State = Literal["open", "refusing", "hanging"]


class Proxy:
    """Forwards one loopback port to a database."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._links: set[asyncio.StreamWriter] = set()
        self._flowing = asyncio.Event()
        self._rejection: bytes | None = None
        self.port = 0
        self.connections = 0  # that the server has opened
        self.sent = 0  # bytes from the server, forwarded or not
        self.received = 0  # bytes from the database

    @property
    def url(self) -> str:
        """The database's URL through this proxy."""
        return self.address.through(self.port)

    @contextmanager
    def running(self) -> Iterator["Proxy"]:
        """Forward during the block, in a thread of its own."""
        thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        # Bound but not listening, so that no other program gets the port, and connections are
        # refused unless the proxy listens
        with socket.socket() as placeholder:
            placeholder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            self.port = _bind(placeholder)
            thread.start()
            try:
                self._call(self._open())
                yield self
            finally:
                self._call(self._end())
                self._loop.call_soon_threadsafe(self._loop.stop)
                thread.join()
                self._loop.close()

    def set(self, state: State) -> None:
        """Forward; or refuse new connections and cut open ones; or hold back all data.

        Data that was held back is forwarded as soon as the proxy is open again.
        """
        self._call(self._set(state))

    @contextmanager
    def in_state(self, state: State) -> Iterator[None]:
        """Set a state for the length of the block."""
        self.set(state)
        try:
            yield
        finally:
            self.set("open")

    def reject(self, sqlstate: str) -> None:
        """Speak PostgreSQL's protocol: answer new connections with an error (PostgreSQL, 55.8).

        Open ones get the same error and are closed, as when the server shuts down.
        """
        fields = f"SFATAL\0VFATAL\0C{sqlstate}\0Mrejected by the suite\0\0".encode()
        self._rejection = b"E" + (len(fields) + 4).to_bytes(4) + fields
        self._call(self._reject())

    def cut(self) -> None:
        """Cut all open connections; new ones are forwarded."""
        self._call(self._cut())

    def _call(self, coroutine: Coroutine[None, None, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _reject(self) -> None:
        assert self._rejection is not None
        for link in list(self._links):
            link.write(self._rejection)
            link.close()

    async def _set(self, state: State) -> None:
        self._rejection = None
        if state == "refusing":
            await self._close()
            return
        await self._open()
        if state == "hanging":
            self._flowing.clear()

    async def _open(self) -> None:
        self._flowing.set()
        if self._server is None:
            self._server = await asyncio.start_server(
                self._forward, "127.0.0.1", self.port, reuse_port=True, backlog=1024
            )

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._cut()
        self._flowing.set()

    async def _cut(self) -> None:
        for link in list(self._links):
            link.transport.abort()

    async def _end(self) -> None:
        await self._close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        if left:
            await asyncio.wait(left, timeout=5)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._links.add(writer)
        if self._rejection:
            await self._turn_away(reader, writer)
            return
        try:
            back_reader, back_writer = await asyncio.open_connection(
                self.address.host, self.address.port
            )
        except OSError:
            writer.transport.abort()
            self._links.discard(writer)
            return
        self._links.add(back_writer)
        if writer.transport.is_closing():  # cut meanwhile
            back_writer.transport.abort()
        await asyncio.gather(
            self._pump(reader, back_writer, to_database=True),
            self._pump(back_reader, writer, to_database=False),
        )
        self._links -= {writer, back_writer}

    async def _turn_away(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a startup message with the error; offers of encryption are declined first."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while (length := int.from_bytes(await reader.readexactly(4))) == 8:
                await reader.readexactly(4)
                writer.write(b"N")
            await reader.readexactly(length - 4)
            writer.write(self._rejection or b"")
            await writer.drain()
        writer.close()
        self._links.discard(writer)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, to_database: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                if to_database:
                    self.sent += len(data)
                else:
                    self.received += len(data)
                await self._flowing.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


def _bind(placeholder: socket.socket) -> int:
    """Bind to a free port of loopback, and return it.

    That can fail: a process which another thread is starting holds the socket that ``free_port``
    tried the port with, until it runs its program.
    """
    while True:
        port = free_port()
        with contextlib.suppress(OSError):
            placeholder.bind(("127.0.0.1", port))
            return port
