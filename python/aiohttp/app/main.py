from collections.abc import AsyncIterator

from aiohttp import ClientSession, TCPConnector, web

from app import settings, views
from app.databases import mongodb, postgresql
from app.problems import problems


async def session(app: web.Application) -> AsyncIterator[None]:
    async with ClientSession(connector=TCPConnector(limit=0)) as session:  # calls never queue
        app[views.SESSION] = session
        yield


async def init_app() -> web.Application:
    app = web.Application(middlewares=[problems])
    app.cleanup_ctx.extend([mongodb, postgresql, session])
    app.router.add_get("/index", views.index)
    app.router.add_get("/json", views.hello)
    app.router.add_get("/mongo", views.mongo)
    app.router.add_get("/agents", views.agents)
    app.router.add_get("/files/{name}", views.files)
    app.router.add_get("/gridfs/{name}", views.gridfs)
    app.router.add_get("/sleep", views.sleep)
    app.router.add_get("/slow_api", views.slow_api)
    return app


if __name__ == "__main__":
    web.run_app(init_app(), host=settings.HOST, port=settings.PORT, shutdown_timeout=5)
