from granian import Granian
from granian.constants import Interfaces

from app.settings import settings

if __name__ == "__main__":
    Granian(
        "app.main:app",
        address=settings.HOST,
        port=settings.PORT,
        interface=Interfaces.ASGI,
        workers=settings.WORKERS,
        respawn_failed_workers=True,
        workers_kill_timeout=10,
    ).serve()
