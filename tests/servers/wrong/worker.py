"""A worker process, with switches."""

import asyncio
import signal
import socket
import sys

from answers import Server, problem
from faults import fault, switched
from wire import Connection, Request, Response


class Worker:
    def __init__(self, server: Server) -> None:
        self.server = server
        self.terminated = asyncio.Event()  # set by SIGTERM
        # Set by SIGUSR2: requests in flight are answered with an error
        self.failing = asyncio.Event()

    async def run(self, listener: socket.socket) -> None:
        stopping = asyncio.Event()
        connections: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            connections.add(task)
            task.add_done_callback(connections.discard)
            await Connection(reader, writer, self.handle, stopping).run()

        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.terminated.set)
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
        if fault("stops-after-mongodb"):
            await self.server.databases.database.client.close()

    async def handle(self, request: Request) -> Response:
        await self.held_up(request)
        response = await self.finished_or_failed(request)
        if fault("access-log"):
            print(request.method, request.target, response.status, file=sys.stderr, flush=True)
        return response

    async def held_up(self, request: Request) -> None:
        """Let /index wait for operations on a database that hangs."""
        answer = switched("postgresql-hangs-many")
        operations = self.server.databases.switches
        waiting = operations.waiting
        if request.target != "/index" or not waiting:
            return
        if answer == "served late":
            while operations.waiting >= waiting:
                await asyncio.sleep(0.1)
            await asyncio.sleep(0.5)
        if answer == "not served":
            await asyncio.sleep(15)

    async def finished_or_failed(self, request: Request) -> Response:
        if switched("sigterm-in-flight") != "an error":
            return await self.server.handle(request)
        handling = asyncio.ensure_future(self.server.handle(request))
        failing = asyncio.ensure_future(self.failing.wait())
        await asyncio.wait((handling, failing), return_when=asyncio.FIRST_COMPLETED)
        if failing.done():
            return problem(503)
        failing.cancel()
        return await handling
