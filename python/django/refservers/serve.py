import signal
import sys

import uvicorn

from refservers import settings


def main() -> None:
    # uvicorn raises the signal that stopped it once more: the exit status is then 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    uvicorn.run(
        "refservers.asgi:application",
        host=settings.HOST,
        port=settings.PORT,
        workers=settings.WORKERS,
        access_log=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=10,
    )


if __name__ == "__main__":
    main()
