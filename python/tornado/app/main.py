import asyncio
import signal
import socket
import sys
from contextlib import suppress
from typing import Any
from weakref import WeakSet

import asyncpg
import uvloop
from motor.motor_tornado import MotorClient, MotorGridFSBucket
from tornado.httpclient import AsyncHTTPClient
from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream
from tornado.netutil import bind_sockets
from tornado.process import fork_processes
from tornado.web import Application

from app.db import no_reset
from app.files import File, GridFS
from app.handlers import NotFound
from app.settings import Settings
from app.views import Agents, Hello, Index, Mongo, Sleep, SlowApi


class Server(HTTPServer):
    """An HTTP server that can finish what is in flight before it stops."""

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        super().initialize(*args, **kwargs)
        self.streams: WeakSet[IOStream] = WeakSet()

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        self.streams.add(stream)
        super().handle_stream(stream, address)

    async def drain(self) -> None:
        self.stop()
        while streams := [stream for stream in self.streams if not stream.closed()]:
            for stream in streams:
                if stream.reading() and not stream.writing():
                    stream.close()
            await asyncio.sleep(0.05)


def create_app(settings: Settings, postgresql: asyncpg.Pool) -> Application:
    mongodb = MotorClient(
        settings.mongodb_url,
        maxPoolSize=settings.mongodb_pool_size,
        # each less than TIMEOUT, so that the driver can say what is wrong
        serverSelectionTimeoutMS=2000,
        connectTimeoutMS=2000,
        socketTimeoutMS=2000,
    ).get_default_database("refservers")
    return Application(
        [
            (r"/index", Index),
            (r"/json", Hello),
            (r"/mongo", Mongo),
            (r"/agents", Agents),
            (r"/files/([^/]+)", File, {"path": str(settings.files_dir)}),
            (r"/gridfs/([^/]+)", GridFS),
            (r"/sleep", Sleep),
            (r"/slow_api", SlowApi),
        ],
        default_handler_class=NotFound,
        log_function=lambda handler: None,
        articles=mongodb["articles"],
        chunks=mongodb["fs.chunks"],
        gridfs=MotorGridFSBucket(mongodb),
        postgresql=postgresql,
        slow_api_url=settings.slow_api_url,
    )


async def serve(settings: Settings, sockets: list[socket.socket], parent: socket.socket) -> None:
    AsyncHTTPClient.configure("tornado.curl_httpclient.CurlAsyncHTTPClient", max_clients=5000)
    postgresql = await asyncpg.create_pool(
        settings.database_url,
        min_size=0,  # connect at the first query, so that the server starts without the database
        max_size=settings.database_pool_size,
        max_inactive_connection_lifetime=0,  # or each query would start and stop a timer
        reset=no_reset,
    )
    server = Server(create_app(settings, postgresql))
    server.add_sockets(sockets)
    await IOStream(parent).read_until_close()
    with suppress(TimeoutError):
        async with asyncio.timeout(10):
            await server.drain()
    await server.close_all_connections()
    postgresql.terminate()


def main() -> None:
    settings = Settings.from_environment()
    try:
        sockets = bind_sockets(settings.port, settings.host, backlog=1024)
    except OSError as error:
        print(f"bad setting: HOST or PORT: {error}", file=sys.stderr)
        sys.exit(2)
    # fork_processes does not stop its children: they see when the parent's end of this is closed
    parent, alive = socket.socketpair()

    def stop(*_: object) -> None:
        for sock in (alive, *sockets):
            sock.close()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    fork_processes(settings.workers)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if alive.fileno() == -1:
        return  # stopped before it began
    alive.close()
    uvloop.run(serve(settings, sockets, parent))


if __name__ == "__main__":
    main()
