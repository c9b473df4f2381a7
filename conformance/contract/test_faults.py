"""A document that is not there is 404; a fault of the server's own is 500, and shows nothing."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from conformance.contract.conftest import Start
from conformance.expect import problem
from conformance.faults import catches
from conformance.needs import control, serves
from conformance.subject import Controlled

pytestmark = [control, serves("mongo", "agents", "gridfs")]


def _other_database(url: str, name: str) -> str:
    return urlsplit(url)._replace(path=f"/{name}").geturl()


@pytest.fixture(scope="module")
def lacking(start_another: Start, controlled: Controlled) -> Iterator[Controlled]:
    """The server on databases that have none of its documents and tables."""
    services = controlled.services
    settings = {
        "MONGODB_URL": _other_database(services.mongodb_url, "refservers_empty"),
        "DATABASE_URL": _other_database(services.database_url, "postgres"),
    }
    with start_another(settings) as server:
        yield server


@catches("missing-document-500")
def test_a_missing_document(lacking: Controlled) -> None:
    for target in ("/mongo", "/mongo?doc=big", "/gridfs/photo.jpg"):
        problem(lacking.ask(target), 404)


@catches("trace-to-client", "fault-503", "fault-html")
def test_a_query_that_cannot_work(lacking: Controlled) -> None:
    """The database has no such tables."""
    problem(lacking.ask("/agents"), 500)
