import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from app import databases, problems, views
from app.settings import settings

app = Starlette(
    routes=[*views.routes, Mount("/files", StaticFiles(directory=settings.FILES_DIR))],
    lifespan=databases.lifespan,
    exception_handlers=problems.handlers,
    max_body_size=2**20,
)

if __name__ == "__main__":
    uvicorn.run(
        "app.main:app",
        host=settings.HOST,
        port=settings.PORT,
        workers=settings.WORKERS,
        timeout_graceful_shutdown=10,
        access_log=False,
    )
