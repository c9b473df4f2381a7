import signal
import socket
import sys

import uvloop
from twisted.internet.asyncioreactor import AsyncioSelectorReactor
from twisted.internet.interfaces import IWriteDescriptor
from twisted.internet.main import installReactor

from app.logs import log_faults
from app.settings import Settings


class Reactor(AsyncioSelectorReactor):
    def addWriter(self, writer: IWriteDescriptor) -> None:
        try:
            super().addWriter(writer)
        except RuntimeError:
            # The peer has reset the connection, and uvloop has told nobody:
            # https://github.com/twisted/twisted/issues/11904. Now writing will.
            self.removeReader(writer)
            super().addWriter(writer)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for app.main, which then stops us
    log_faults()
    settings = Settings.from_environment()
    loop = uvloop.new_event_loop()
    reactor = Reactor(loop)
    installReactor(reactor)

    from app.db import MongoDB, PostgreSQL
    from app.pages import tree
    from app.site import Site

    postgresql = loop.run_until_complete(PostgreSQL.open(settings))
    site = Site(tree(settings, MongoDB(settings), postgresql))
    with socket.socket(fileno=int(sys.argv[1])) as sock:
        port = reactor.adoptStreamPort(sock.fileno(), sock.family, site)

    def stop() -> object:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        port.stopListening()
        return site.drain()

    reactor.addSystemEventTrigger("before", "shutdown", stop)
    reactor.run()


if __name__ == "__main__":
    main()
