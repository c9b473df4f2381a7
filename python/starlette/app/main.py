import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from app import databases, problems, views
from app.settings import settings

app = Starlette(
    routes=[
        Route("/index", views.index),
        Route("/json", views.hello),
        Route("/mongo", views.mongo),
        Route("/notes", views.create_note, methods=["POST"]),
        Route("/notes/{note_id}", views.read_note),
        Route("/agents", views.agents),
        Mount("/files", StaticFiles(directory=settings.FILES_DIR)),
        Route("/gridfs/{name}", views.gridfs),
        Route("/sleep", views.sleep),
        Route("/slow_api", views.slow_api),
    ],
    lifespan=databases.lifespan,
    exception_handlers=dict.fromkeys(problems.ERRORS, problems.answer),
    max_body_size=2**20,
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
