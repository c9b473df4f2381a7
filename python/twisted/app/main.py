import asyncio
import sys
from typing import Any

from twisted import logger
from twisted.internet.defer import Deferred, DeferredList
from twisted.web.server import Request, Site

from app.databases import as_deferred, mongodb, postgresql
from app.settings import settings
from app.views import app, pool


class GracefulSite(Site):
    """Knows its requests in flight, so that stopping can wait for them."""

    in_flight = set[Request]()

    def getResourceFor(self, request: Request) -> Any:
        self.in_flight.add(request)
        request.notifyFinish().addBoth(lambda _: self.in_flight.discard(request))
        return super().getResourceFor(request)


async def main(reactor: Any) -> None:
    level = logger.LogLevelFilterPredicate(logger.LogLevel.warn)  # the access log is at "info"
    log = logger.FilteringLogObserver(logger.textFileLogObserver(sys.stdout), [level])
    logger.globalLogBeginner.beginLoggingTo([log])
    await as_deferred(postgresql)
    site = GracefulSite(app.resource(), parsePOSTFormSubmission=False)
    port = reactor.listenTCP(settings.PORT, site, interface=settings.HOST)

    async def stop() -> None:
        await port.stopListening()
        finished = [request.notifyFinish() for request in site.in_flight]
        await DeferredList(finished, consumeErrors=True).addTimeout(5, reactor)
        await as_deferred(asyncio.gather(postgresql.close(), mongodb.client.close()))
        await pool.closeCachedConnections()

    reactor.addSystemEventTrigger("before", "shutdown", lambda: Deferred.fromCoroutine(stop()))
    await Deferred()  # until a signal stops the reactor
