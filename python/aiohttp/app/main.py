import multiprocessing
import signal
import socket
import sys
from collections.abc import AsyncIterator

import aiohttp
import uvloop
from aiohttp import web

from app.db import SETTINGS, mongodb, postgresql
from app.errors import problems
from app.routes import ROUTES
from app.settings import Settings
from app.views import UPSTREAM


async def upstream(app: web.Application) -> AsyncIterator[None]:
    connector = aiohttp.TCPConnector(limit=0)  # all calls of a request are in flight together
    async with aiohttp.ClientSession(connector=connector) as session:
        app[UPSTREAM] = session
        yield


def create_app(settings: Settings) -> web.Application:
    app = web.Application(middlewares=[problems])
    app[SETTINGS] = settings
    app.cleanup_ctx.extend([mongodb, postgresql, upstream])
    app.add_routes(ROUTES)
    return app


def serve(settings: Settings, sock: socket.socket) -> None:
    web.run_app(
        create_app(settings),
        sock=sock,
        loop=uvloop.new_event_loop(),
        access_log=None,
        print=None,
        shutdown_timeout=10,
        backlog=1024,  # it listens once more
    )


def main() -> None:
    settings = Settings.from_environment()
    try:
        sock = socket.create_server((settings.host, settings.port), backlog=1024)
    except OSError as error:
        print(f"bad setting: HOST or PORT: {error}", file=sys.stderr)
        sys.exit(2)
    if settings.workers == 1:
        return serve(settings, sock)
    workers = [
        multiprocessing.Process(target=serve, args=(settings, sock))
        for _ in range(settings.workers)
    ]
    for worker in workers:
        worker.start()

    def stop(*_: object) -> None:
        sock.close()
        for worker in workers:
            worker.terminate()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
