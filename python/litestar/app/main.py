import uvicorn
from litestar import Litestar
from litestar.static_files import create_static_files_router

from app import views
from app.databases import lifespan, provide_mongodb, provide_postgresql, provide_upstream
from app.problems import answer
from app.settings import settings

app = Litestar(
    [*views.handlers, create_static_files_router("/files", [settings.FILES_DIR])],
    lifespan=[lifespan],
    dependencies={
        "mongodb": provide_mongodb,
        "postgresql": provide_postgresql,
        "upstream": provide_upstream,
    },
    exception_handlers={Exception: answer},
    request_max_body_size=2**20,
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
