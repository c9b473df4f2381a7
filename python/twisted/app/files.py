from gridfs import AsyncGridOut
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IPushProducer
from twisted.web.iweb import IRequest
from twisted.web.resource import Resource
from twisted.web.server import Request
from twisted.web.static import File
from werkzeug.exceptions import NotFound
from zope.interface import implementer

from app.databases import as_deferred


class Missing(Resource):
    isLeaf = True

    def render(self, request: IRequest) -> bytes:
        raise NotFound


class Files(File):
    """A folder that is not listed."""

    childNotFound = Missing()  # type: ignore[assignment]

    def directoryListing(self) -> Resource:
        return self.childNotFound


@implementer(IPushProducer)
class Pace:
    """The pace at which a client reads."""

    client_left = False

    def __init__(self) -> None:
        self.ready: Deferred[None] = succeed(None)

    def pauseProducing(self) -> None:
        if self.ready.called:
            self.ready = Deferred()

    def resumeProducing(self) -> None:
        if not self.ready.called:
            self.ready.callback(None)

    def stopProducing(self) -> None:
        self.client_left = True


async def send(file: AsyncGridOut, request: Request) -> None:
    """Write a GridFS file chunk by chunk, each when its client has read the one before."""
    pace = Pace()
    request.registerProducer(pace, True)
    try:
        while chunk := await as_deferred(file.readchunk()):
            request.write(chunk)
            await pace.ready
    finally:
        if not pace.client_left:
            request.unregisterProducer()
        await as_deferred(file.close())
