import asyncio
import logging
import signal
import socket
from typing import Any

import psutil
import tornado
from tornado.httpserver import HTTPServer

from app import views
from app.databases import connect
from app.problems import NotFoundHandler
from app.settings import settings

shutdown_event = asyncio.Event()


def make_app(connections: dict[str, Any]) -> tornado.web.Application:
    handlers = [
        tornado.web.url(r"/index", views.IndexHandler),
        tornado.web.url(r"/json", views.HelloHandler),
        tornado.web.url(r"/mongo", views.MongoHandler),
        tornado.web.url(r"/notes", views.NotesHandler),
        tornado.web.url(r"/notes/([0-9a-f]{24})", views.NoteHandler, name="note"),
        tornado.web.url(r"/agents", views.AgentsHandler),
        tornado.web.url(r"/files/(.*)", views.FilesHandler, {"path": settings.FILES_DIR}),
        tornado.web.url(r"/gridfs/([^/]+)", views.GridFSHandler),
        tornado.web.url(r"/sleep", views.SleepHandler),
        tornado.web.url(r"/slow_api", views.SlowApiHandler),
    ]
    return tornado.web.Application(
        handlers, default_handler_class=NotFoundHandler, log_function=lambda _: None, **connections
    )


async def main(sockets: list[socket.socket]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, shutdown_event.set)
    async with connect() as connections:
        app = make_app(connections)
        server = HTTPServer(app, idle_connection_timeout=75, body_timeout=30, max_buffer_size=2**20)
        server.add_sockets(sockets)
        await shutdown_event.wait()
        server.stop()
        await asyncio.sleep(5)  # for requests in flight
        await server.close_all_connections()


def stop_workers(number: int, frame: object) -> None:
    """Pass a signal on: fork_processes waits for its workers to end, but ends none."""
    shutdown_event.set()  # for those that do not serve yet
    for worker in psutil.Process().children():
        worker.send_signal(number)


if __name__ == "__main__":
    logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    sockets = tornado.netutil.bind_sockets(settings.PORT, settings.HOST)
    if settings.WORKERS > 1:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop_workers)
        tornado.process.fork_processes(settings.WORKERS)
    asyncio.run(main(sockets))
