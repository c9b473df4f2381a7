"""A worker process, with switches."""

import asyncio
import contextlib
import io
import os
import signal
import socket
import sys
import time

from answers import Server, problem
from faults import switched
from wire import Connection, Request, Response


class Worker:
    def __init__(self, server: Server) -> None:
        self.server = server
        self.terminated = asyncio.Event()
        """Set by SIGTERM."""
        self.failing = asyncio.Event()
        """Set by SIGUSR2: requests in flight are answered with an error."""
        self.bereft = False
        """Set by SIGUSR1: another worker has died."""
        self.served = 0

    async def run(self, listener: socket.socket) -> None:
        stopping = asyncio.Event()
        connections: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            connections.add(task)
            task.add_done_callback(connections.discard)
            await self.connection(reader, writer, stopping)

        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.terminated.set)
        loop.add_signal_handler(signal.SIGUSR1, lambda: setattr(self, "bereft", True))
        loop.add_signal_handler(signal.SIGUSR2, self.failing.set)
        serving = await asyncio.start_server(connected, sock=listener, limit=1 << 20)
        await self.terminated.wait()
        while switched("stopping-new-connection") == "accepted and served" and connections:
            await asyncio.sleep(0.1)
        if switched("stopping-idle-connection") != "waits":
            stopping.set()
        serving.close()
        if connections:
            await asyncio.wait(connections, timeout=10)

    async def connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stopping: asyncio.Event
    ) -> None:
        if switched("stopping-idle-connection") == "closes after each response":
            stopping = asyncio.Event()  # this connection's own

        async def handle(request: Request) -> Response:
            if request.target.startswith("/sleep"):
                stand_in(writer.get_extra_info("socket").fileno())
            response = await self.handle(request)
            if switched("stopping-idle-connection") == "closes after each response":
                stopping.set()
            return response

        await Connection(reader, writer, handle, stopping).run()

    async def handle(self, request: Request) -> Response:
        self.served += 1
        if self.bereft and self.served % 2 and switched("killed-worker-others") == "some fail":
            raise ConnectionResetError
        await self.held_up(request)
        with contextlib.ExitStack() as held:
            if switched("log-fault") in ("lines", "nothing"):
                held.enter_context(contextlib.redirect_stderr(io.StringIO()))
            response = await self.finished_or_failed(request)
        log(request, response)
        if response.status == 503 and switched("retry-after") == "sent":
            response.headers["Retry-After"] = "1"
        return response

    async def held_up(self, request: Request) -> None:
        """Let /index wait for operations on a database that hangs."""
        answers = {switched(question) for question in HELD_UP} - {None}
        waiting = self.server.databases.waiting
        if request.target != "/index" or not waiting:
            return
        if "served late" in answers:
            while self.server.databases.waiting >= waiting:
                await asyncio.sleep(0.1)
            await asyncio.sleep(0.5)
        if "not served" in answers:
            await asyncio.sleep(15)

    async def finished_or_failed(self, request: Request) -> Response:
        if "an error" not in (switched("sigterm-in-flight"), switched("sigint-in-flight")):
            return await self.server.handle(request)
        handling = asyncio.ensure_future(self.server.handle(request))
        failing = asyncio.ensure_future(self.failing.wait())
        await asyncio.wait((handling, failing), return_when=asyncio.FIRST_COMPLETED)
        if failing.done():
            return problem(503)
        failing.cancel()
        return await handling


HELD_UP = ("mongodb-hangs-others", "postgresql-hangs-others", "postgresql-hangs-many")


def log(request: Request, response: Response) -> None:
    line = f"{request.method} {request.target} {response.status}"
    question = {200: "log-success", 404: "log-not-found", 500: "log-fault"}.get(response.status)
    count = {"a line": 1, "several lines": 2, "lines": 1}.get(switched(question or "") or "", 0)
    for _ in range(count):
        print(line, file=sys.stderr, flush=True)


def stand_in(connection: int) -> None:
    """Start a process that keeps a connection open after this one is killed."""
    answer = switched("killed-worker-in-flight")
    worker = os.getpid()
    if answer not in ("hangs", "answered") or os.fork():
        return
    while os.getppid() == worker:
        time.sleep(0.05)
    if answer == "answered":
        os.write(connection, b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
    time.sleep(10)
    os._exit(0)
