"""A server of the whole contract that can be made wrong, one fault at a time.

It is written apart from every other server, on bare sockets, so that each fault can be put exactly
where it belongs. The suite's own tests show that it passes as it is, and that every check fails
when one of the faults that it claims to catch is switched on.
"""

import asyncio
import os
import signal
import socket
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from answers import Server
from databases import Databases
from faults import fault
from wire import Connection


def setting(name: str, default: str = "") -> str:
    value = os.environ.get(name, default)
    good = {
        "PORT": lambda: value.isdigit() and int(value) < 65536,
        "WORKERS": lambda: value.isdigit() and int(value) > 0,
        "MONGODB_URL": lambda: value.startswith("mongodb://"),
        "DATABASE_URL": lambda: value.startswith("postgresql://"),
        "FILES_DIR": lambda: Path(value).is_dir(),
        "SLOW_API_URL": lambda: value.startswith("http://"),
        "HOST": lambda: bool(value),
    }[name]
    if not good() and not fault("bad-setting-accepted"):
        told = (
            "a setting is bad" if fault("bad-setting-unnamed") else f"bad setting: {name}={value}"
        )
        print(f"Trace\n{told}" if fault("bad-setting-trace") else told, file=sys.stderr)
        sys.exit(1 if fault("bad-setting-status-1") else 2)
    if not good():
        time.sleep(60)
    return value


async def serve(listener: socket.socket, server: Server) -> None:
    asked, stopping = asyncio.Event(), asyncio.Event()
    connections: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        task.add_done_callback(connections.discard)
        await Connection(reader, writer, server.handle, stopping).run()

    loop = asyncio.get_running_loop()
    if not fault("stops-at-once"):
        loop.add_signal_handler(signal.SIGTERM, asked.set)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serving = await asyncio.start_server(connected, sock=listener, limit=1 << 20)
    await asked.wait()
    if fault("accepts-while-stopping"):
        await asyncio.sleep(4)
    stopping.set()
    serving.close()
    if connections:
        await asyncio.wait(connections, timeout=10)


def work(listener: socket.socket, settings: dict[str, str]) -> None:
    databases = Databases(settings["MONGODB_URL"], settings["DATABASE_URL"])
    server = Server(databases, Path(settings["FILES_DIR"]), settings["SLOW_API_URL"])
    asyncio.run(serve(listener, server))


def start(listener: socket.socket, settings: dict[str, str]) -> int:
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        status = 0
        try:
            work(listener, settings)
        except SystemExit:
            status = 1
        os._exit(status)
    return pid


def main() -> None:
    names = ("HOST", "PORT", "WORKERS", "FILES_DIR", "MONGODB_URL", "DATABASE_URL", "SLOW_API_URL")
    settings = {name: setting(name, "1" if name == "WORKERS" else "") for name in names}
    if fault("needs-database-at-start"):
        parts = urlsplit(settings["DATABASE_URL"])
        socket.create_connection((parts.hostname or "", parts.port or 5432)).close()
    listener = socket.create_server(
        (settings["HOST"], int(settings["PORT"])), backlog=1024, reuse_port=False
    )
    count = 1 if fault("workers-ignored") else int(settings["WORKERS"])
    workers = {start(listener, settings) for _ in range(count)}
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        if fault("stops-never"):
            return
        stopping = True
        if fault("leaves-children"):
            listener.close()
            os._exit(0)
        for pid in workers:
            os.kill(pid, signal.SIGTERM)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    while workers:
        pid, _ = os.wait()
        workers.discard(pid)
        if not stopping and not fault("workers-unsupervised"):
            workers.add(start(listener, settings))
    sys.exit(143 if fault("stops-with-143") else 0)


main()
