import multiprocessing
import signal
import socket
import sys

from app.settings import Settings


def serve(settings: Settings, listener: socket.socket) -> None:
    from app import server  # here, for it patches the process that imports it

    server.serve(settings, listener)


def main() -> None:
    settings = Settings.from_environment()
    try:
        listener = socket.create_server((settings.host, settings.port), backlog=1024)
    except OSError as error:
        print(f"bad setting: HOST or PORT: {error}", file=sys.stderr)
        sys.exit(2)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it
    if settings.workers == 1:
        return serve(settings, listener)
    workers = [
        multiprocessing.Process(target=serve, args=(settings, listener))
        for _ in range(settings.workers)
    ]
    for worker in workers:
        worker.start()
    listener.close()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: [worker.terminate() for worker in workers])
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
