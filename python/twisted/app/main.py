import sys

from twisted.internet import asyncioreactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ServerEndpoint
from twisted.internet.interfaces import IReactorTCP
from twisted.internet.task import react
from twisted.logger import globalLogBeginner, textFileLogObserver
from twisted.web.server import Site

asyncioreactor.install()  # for asyncpg and PyMongo; Klein's import would install another

from app import settings  # noqa: E402
from app.databases import as_deferred, postgresql  # noqa: E402
from app.views import app  # noqa: E402


async def main(reactor: IReactorTCP) -> None:
    globalLogBeginner.beginLoggingTo([textFileLogObserver(sys.stdout)])
    await as_deferred(postgresql)
    endpoint = TCP4ServerEndpoint(reactor, settings.PORT, interface=settings.HOST)
    await endpoint.listen(Site(app.resource()))
    await Deferred()  # until a signal stops the reactor


if __name__ == "__main__":
    react(main)
