import signal
import socket
import sys

import uvloop
from twisted.internet import asyncioreactor

from app.logs import log_faults
from app.settings import Settings


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for app.main, which then stops us
    log_faults()
    loop = uvloop.new_event_loop()
    asyncioreactor.install(loop)
    from twisted.internet import reactor

    from app.db import MongoDB, PostgreSQL
    from app.pages import tree
    from app.site import Site

    settings = Settings.from_environment()
    postgresql = loop.run_until_complete(PostgreSQL.open(settings))
    site = Site(tree(settings, MongoDB(settings), postgresql))
    with socket.socket(fileno=int(sys.argv[1])) as sock:
        port = reactor.adoptStreamPort(sock.fileno(), sock.family, site)
    for call, *args in (
        (signal.signal, signal.SIGTERM, signal.SIG_IGN),
        (port.stopListening,),
        (site.drain,),
    ):
        reactor.addSystemEventTrigger("before", "shutdown", call, *args)
    reactor.run()


if __name__ == "__main__":
    main()
