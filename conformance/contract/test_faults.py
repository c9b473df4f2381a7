"""A document that is not there is 404; a fault of the server's own is 500, and shows nothing."""

from urllib.parse import urlsplit

from conformance.expect import problem
from conformance.faults import catches
from conformance.needs import control, serves
from conformance.subject import Controlled, Start

pytestmark = [control, serves("mongo", "agents", "gridfs")]


def _other_database(url: str, name: str) -> str:
    return urlsplit(url)._replace(path=f"/{name}").geturl()


@catches("missing-document-500")
def test_a_missing_document(start_another: Start, controlled: Controlled) -> None:
    empty = _other_database(controlled.services.mongodb_url, "refservers_empty")
    with start_another({"MONGODB_URL": empty}) as other:
        for target in ("/mongo", "/mongo?doc=big", "/gridfs/photo.jpg"):
            problem(other.ask(target), 404)


@catches("trace-to-client", "fault-503", "fault-html")
def test_a_query_that_cannot_work(start_another: Start, controlled: Controlled) -> None:
    """The other database has no such tables."""
    empty = _other_database(controlled.services.database_url, "postgres")
    with start_another({"DATABASE_URL": empty}) as other:
        problem(other.ask("/agents"), 500)
