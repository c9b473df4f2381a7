import sys
from typing import Any

from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.endpoints import quoteStringArgument, serverFromString
from twisted.logger import (
    FilteringLogObserver,
    LogLevel,
    LogLevelFilterPredicate,
    globalLogBeginner,
    textFileLogObserver,
)
from twisted.python.log import discardLogs
from twisted.web.resource import IResource
from twisted.web.server import Request, Site

from app.databases import Clients
from app.settings import settings
from app.views import Views


class WaitingSite(Site):
    """A site that knows its requests in flight, so that stopping can wait for them."""

    def __init__(self, resource: IResource) -> None:
        super().__init__(resource, parsePOSTFormSubmission=False)
        self.in_flight: set[Request] = set()

    def getResourceFor(self, request: Request) -> Any:
        self.in_flight.add(request)
        request.notifyFinish().addBoth(lambda _: self.in_flight.discard(request))
        return super().getResourceFor(request)


async def main(reactor: Any) -> None:
    log()
    clients = Clients(reactor)
    await clients.open()
    site = WaitingSite(Views(reactor, clients).app.resource())
    interface = quoteStringArgument(settings.HOST)
    endpoint = serverFromString(reactor, f"tcp:{settings.PORT}:interface={interface}")
    port = await endpoint.listen(site)

    async def stop() -> None:
        await port.stopListening()
        finished = DeferredList([request.notifyFinish() for request in site.in_flight])
        await finished.addTimeout(5, reactor)
        await clients.close()

    reactor.addSystemEventTrigger("before", "shutdown", lambda: Deferred.fromCoroutine(stop()))
    await Deferred()  # until a signal stops the reactor


def log() -> None:
    discardLogs()  # the access log of a site without a logPath
    warnings = LogLevelFilterPredicate(defaultLogLevel=LogLevel.warn)
    observer = FilteringLogObserver(textFileLogObserver(sys.stdout), [warnings])
    globalLogBeginner.beginLoggingTo([observer])
