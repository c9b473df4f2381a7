import logging

from aiohttp import web

from app import views
from app.databases import connect
from app.problems import problems
from app.settings import settings


async def init_app() -> web.Application:
    logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    app = web.Application(middlewares=[problems], client_max_size=2**20)
    app.cleanup_ctx.append(connect)
    app.router.add_get("/index", views.index)
    app.router.add_get("/json", views.hello)
    app.router.add_get("/mongo", views.mongo)
    app.router.add_post("/notes", views.create_note)
    app.router.add_get("/notes/{id:[0-9a-f]{24}}", views.read_note, name="note")
    app.router.add_get("/agents", views.agents)
    app.router.add_get("/files/{name}", views.files)
    app.router.add_get("/gridfs/{name}", views.gridfs)
    app.router.add_get("/sleep", views.sleep)
    app.router.add_get("/slow_api", views.slow_api)
    return app


if __name__ == "__main__":
    web.run_app(
        init_app(), host=settings.HOST, port=settings.PORT, shutdown_timeout=4, access_log=None
    )
