import asyncio
import signal
import socket

import tornado

from app import databases, settings, views
from app.problems import NotFoundHandler


def make_app(connections: dict) -> tornado.web.Application:
    handlers = [
        (r"/index", views.IndexHandler),
        (r"/json", views.HelloHandler),
        (r"/mongo", views.MongoHandler),
        (r"/agents", views.AgentsHandler),
        (r"/files/(.*)", views.FilesHandler, {"path": settings.FILES_DIR}),
        (r"/gridfs/([^/]+)", views.GridFSHandler),
        (r"/sleep", views.SleepHandler),
        (r"/slow_api", views.SlowApiHandler),
    ]
    return tornado.web.Application(handlers, default_handler_class=NotFoundHandler, **connections)


async def main(sockets: list[socket.socket], parent: socket.socket) -> None:
    shutdown_event = asyncio.Event()
    asyncio.get_running_loop().add_reader(parent, shutdown_event.set)
    tornado.httpclient.AsyncHTTPClient.configure(None, max_clients=5000)
    connections = await databases.connect()
    server = tornado.httpserver.HTTPServer(make_app(connections))
    server.add_sockets(sockets)
    await shutdown_event.wait()
    server.stop()
    await server.close_all_connections()
    connections["postgresql"].terminate()


if __name__ == "__main__":
    sockets = tornado.netutil.bind_sockets(settings.PORT, settings.HOST)
    # fork_processes does not end its workers: they end once the parent closes its socket.
    parent, alive = socket.socketpair()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: alive.close())
    if settings.WORKERS > 1:
        tornado.process.fork_processes(settings.WORKERS)
        alive.close()
    asyncio.run(main(sockets, parent))
