import signal
import socket
import sys

from twisted.internet import reactor
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.error import ProcessExitedAlready
from twisted.internet.protocol import ProcessProtocol
from twisted.logger import Logger
from twisted.python.failure import Failure

from app.logs import log_faults
from app.settings import Settings


class Worker(ProcessProtocol):
    """A process that accepts connections on the socket, replaced when it dies."""

    log = Logger()
    stopped: Deferred[None] | None = None

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.start()

    def start(self) -> None:
        if not self.stopped:
            fd = self.sock.fileno()
            command = [sys.executable, "-m", "app.worker", str(fd)]
            descriptors = {0: 0, 1: 1, 2: 2, fd: fd}
            reactor.spawnProcess(self, command[0], command, env=None, childFDs=descriptors)

    def processEnded(self, reason: Failure) -> None:
        if self.stopped:
            self.stopped.callback(None)
        else:
            self.log.error("a worker died and is replaced: {reason}", reason=reason.value)
            reactor.callLater(0.5, self.start)

    def stop(self) -> Deferred[None]:
        self.stopped = Deferred()
        try:
            self.transport.signalProcess("TERM")
        except ProcessExitedAlready:
            self.stopped.callback(None)
        return self.stopped


def main() -> None:
    settings = Settings.from_environment()
    log_faults()
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        sock = socket.create_server((settings.host, settings.port), family=family, backlog=1024)
    except OSError as error:
        print(f"bad setting: HOST or PORT: {error}", file=sys.stderr)
        sys.exit(2)
    sock.setblocking(False)
    workers = [Worker(sock) for _ in range(settings.workers)]

    def stop() -> DeferredList[None]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sock.close()
        return DeferredList([worker.stop() for worker in workers])

    reactor.addSystemEventTrigger("before", "shutdown", stop)
    reactor.run()


if __name__ == "__main__":
    main()
