import uvicorn
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from app.databases import lifespan
from app.problems import ERRORS, answer
from app.settings import settings
from app.views import router

app = FastAPI(
    lifespan=lifespan,
    exception_handlers=dict.fromkeys(ERRORS, answer),
    redirect_slashes=False,
)
app.include_router(router, max_body_size=2**20)
app.mount("/files", StaticFiles(directory=settings.FILES_DIR), name="files")

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
