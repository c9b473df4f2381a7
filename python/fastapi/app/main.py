import uvicorn
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from app import databases, problems, views
from app.settings import settings

app = FastAPI(lifespan=databases.lifespan, exception_handlers=problems.handlers)
app.include_router(views.router)
app.mount("/files", StaticFiles(directory=settings.files_dir), name="files")

if __name__ == "__main__":
    uvicorn.run(
        "app.main:app",
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        timeout_graceful_shutdown=10,
    )
