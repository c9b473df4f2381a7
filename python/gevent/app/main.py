import multiprocessing
import signal
import socket
import sys

from app.settings import Settings


def serve(settings: Settings, listener: socket.socket) -> None:
    from app.server import serve  # patches the standard library: in the process that serves

    serve(settings, listener)


def main() -> None:
    settings = Settings.from_environment()
    try:
        listener = socket.create_server((settings.host, settings.port), backlog=1024)
    except OSError as error:
        print(f"bad setting: HOST or PORT: {error}", file=sys.stderr)
        sys.exit(2)
    # pywsgi sends headers and body apart, and accepted sockets inherit this
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if settings.workers == 1:
        return serve(settings, listener)
    workers = [
        multiprocessing.Process(target=serve, args=(settings, listener))
        for _ in range(settings.workers)
    ]
    for worker in workers:
        worker.start()
    listener.close()
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, lambda *_: [worker.terminate() for worker in workers])
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
