import asyncio
import os
import signal

import tornado

from app import databases, settings, views
from app.problems import NotFoundHandler


async def make_app() -> tornado.web.Application:
    tornado.httpclient.AsyncHTTPClient.configure(None, max_clients=5000)
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
    connections = await databases.connect()
    return tornado.web.Application(handlers, default_handler_class=NotFoundHandler, **connections)


async def main(sockets: list, parent: int) -> None:
    shutdown_event = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(parent, shutdown_event.set)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, shutdown_event.set)
    server = tornado.httpserver.HTTPServer(await make_app())
    server.add_sockets(sockets)
    await shutdown_event.wait()
    server.stop()
    await server.close_all_connections()


if __name__ == "__main__":
    sockets = tornado.netutil.bind_sockets(settings.PORT, settings.HOST)
    parent, alive = os.pipe()  # tells workers of their parent's end: fork_processes leaves them
    if settings.WORKERS > 1:
        tornado.process.fork_processes(settings.WORKERS)
        os.close(alive)
    asyncio.run(main(sockets, parent))
