"""A server of the whole contract that can be made wrong, one fault at a time.

It shares no code with other servers and uses bare sockets, so that each fault can be put exactly
where it belongs. The suite's own tests show that it passes without faults, and that every check
fails with each of the faults that it claims to catch. It can also be switched to every answer to
every question of `behaviours.toml`.
"""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from answers import Server
from databases import Databases
from faults import fault, switched
from worker import Worker


def is_number(value: str, highest: int = 1 << 31) -> bool:
    if fault("number-prefix-accepted"):
        value = value.rstrip("abcdefghijklmnopqrstuvwxyz") or value
    if fault("bounds-unchecked", "settings-listed"):
        return value.lstrip("-").isdigit()
    return value.isdigit() and 0 < int(value) <= highest


SETTINGS: dict[str, Callable[[str], bool]] = {
    "HOST": bool,
    "PORT": lambda value: is_number(value, 65535),
    "WORKERS": lambda value: is_number(value),
    "THREADS": lambda value: not value or is_number(value),
    "MONGODB_POOL_SIZE": lambda value: not value or is_number(value),
    "DATABASE_POOL_SIZE": lambda value: not value or is_number(value),
    "FILES_DIR": lambda value: Path(value).is_dir(),
    "MONGODB_URL": lambda value: value.startswith("mongodb://"),
    "DATABASE_URL": lambda value: value.startswith("postgresql://"),
    "SLOW_API_URL": lambda value: value.startswith("http://"),
}


def read_settings() -> dict[str, str]:
    values = {name: os.environ.get(name, "") for name in SETTINGS}
    bad = {name: values[name] for name, is_good in SETTINGS.items() if not is_good(values[name])}
    if bad and fault("bad-setting-accepted"):
        time.sleep(60)
    if bad:
        refuse(bad)
    return values


def refuse(bad: dict[str, str]) -> None:
    names = SETTINGS if fault("settings-listed") else bad
    named = "a setting is bad" if fault("bad-setting-unnamed") else f"bad: {', '.join(names)}"
    if fault("password-logged"):
        named = f"bad: {bad}"
    print(named, file=sys.stderr)
    sys.exit(0 if fault("bad-setting-status-0") else 2)


def wait_for_mongodb(url: str) -> None:
    parts = urlsplit(url)
    answer = switched("mongodb-starts")
    while answer in ("ends", "serves nothing"):
        try:
            socket.create_connection((parts.hostname or "", parts.port or 0)).close()
            break
        except OSError:
            if answer == "ends":
                raise
            time.sleep(0.2)


def work(listener: socket.socket, settings: dict[str, str]) -> None:
    async def run() -> None:
        databases = Databases(settings["MONGODB_URL"], settings["DATABASE_URL"])
        server = Server(databases, Path(settings["FILES_DIR"]), settings["SLOW_API_URL"])
        await Worker(server).run(listener)

    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(run())


class Parent:
    """The parent process, which starts, replaces and stops the workers."""

    def __init__(self, listener: socket.socket, settings: dict[str, str]) -> None:
        self.listener, self.settings = listener, settings
        self.workers: set[int] = set()
        self.retired: set[int] = set()
        self.stopped_by: signal.Signals | None = None

    def start(self) -> None:
        pid = os.fork()
        if pid == 0:
            status = 0
            try:
                work(self.listener, self.settings)
            except SystemExit:
                status = 1
            os._exit(status)
        self.workers.add(pid)

    def signal_workers(self, number: signal.Signals) -> None:
        for pid in self.workers:
            os.kill(pid, number)

    def run(self, count: int) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda got, _: self.stop(signal.Signals(got)))
        signal.signal(signal.SIGHUP, lambda *_: self.reload())
        for _ in range(count):
            self.start()
        while self.workers:
            pid, _ = os.wait()
            self.workers.discard(pid)
            goes_on = self.stopped_by is None and pid not in self.retired
            if goes_on and not fault("workers-unsupervised"):
                self.start()
        return self.status()

    def stop(self, number: signal.Signals) -> None:
        if fault("stops-never"):
            return
        self.stopped_by = number
        new = switched("stopping-new-connection")
        if new not in ("accepted and left", "accepted and served"):
            self.listener.close()
        if fault("leaves-children"):
            os._exit(0)
        in_flight = switched("sigterm-in-flight")
        if in_flight == "an error":
            self.signal_workers(signal.SIGUSR2)
        cut = in_flight == "cut" or new == "ends at once"
        self.signal_workers(signal.SIGKILL if cut else signal.SIGTERM)

    def reload(self) -> None:
        if switched("sighup") == "ends":
            self.stop(signal.SIGTERM)
        if switched("sighup") == "reloads":
            old = set(self.workers)
            self.retired |= old
            for pid in old:
                self.start()
                os.kill(pid, signal.SIGTERM)

    def status(self) -> int:
        assert self.stopped_by is not None or fault("workers-unsupervised")
        number = self.stopped_by or signal.SIGTERM
        answer = switched("sigterm-status")
        return {"the signal's": 128 + number, "another": 7}.get(answer or "", 0)


def listen(host: str, port: int) -> socket.socket:
    if ":" in host and fault("ipv6-refused"):
        sys.exit("no IPv6")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024, reuse_port=False)
    except OSError as error:
        answer = switched("port-in-use")
        if answer == "runs on":
            time.sleep(60)
        if answer in ("a line", "ends with 0"):
            print(error, file=sys.stderr)
            sys.exit(answer == "a line")
        raise


def main() -> None:
    settings = read_settings()
    wait_for_mongodb(settings["MONGODB_URL"])
    listener = listen(settings["HOST"], int(settings["PORT"]))
    count = 1 if fault("workers-ignored") else int(settings["WORKERS"])
    sys.exit(Parent(listener, settings).run(count))


main()
