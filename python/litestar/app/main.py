import uvicorn
from litestar import Litestar
from litestar.static_files import create_static_files_router

from app import databases, problems, views
from app.settings import settings

app = Litestar(
    [*views.handlers, create_static_files_router("/files", [settings.FILES_DIR])],
    lifespan=[databases.lifespan],
    exception_handlers={Exception: problems.respond},
    request_max_body_size=2**20,
)

if __name__ == "__main__":
    uvicorn.run(
        "app.main:app",
        host=settings.HOST,
        port=settings.PORT,
        workers=settings.WORKERS,
        timeout_graceful_shutdown=8,
        timeout_keep_alive=65,
        access_log=False,
    )
