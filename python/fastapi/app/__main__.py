import signal
import sys

import uvicorn

from app.settings import Settings


def main() -> None:
    settings = Settings.from_environment()
    # Uvicorn stops, then raises the signal again; this makes exit status 0 of it
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    uvicorn.run(
        "app.main:app",
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        access_log=False,
        timeout_graceful_shutdown=10,
    )


if __name__ == "__main__":
    main()
