import signal

import uvicorn

from refservers import settings


def main() -> None:
    # uvicorn raises the signal that stopped it once more: the exit status is 0 all the same
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, lambda *_: None)
    uvicorn.run(
        "refservers.asgi:application",
        host=settings.HOST,
        port=settings.PORT,
        workers=settings.WORKERS,
        lifespan="off",
        access_log=False,
        log_level="warning",
        timeout_keep_alive=75,
        timeout_graceful_shutdown=10,
    )


if __name__ == "__main__":
    main()
