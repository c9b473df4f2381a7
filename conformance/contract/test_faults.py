"""A missing document is a 404; an internal error is a 500 without details."""

from typing import Any

import pymongo
import pytest
from pymongo.errors import OperationFailure

from conformance.expect import problem
from conformance.marks import catches, control, serves
from conformance.subject import Controlled

pytestmark = [control, serves("mongo", "agents", "gridfs")]


@catches("missing-document-500")
def test_a_missing_document(lacking: Controlled) -> None:
    with pymongo.MongoClient[Any](lacking.environment["MONGODB_URL"]) as client:
        try:
            client.get_default_database().articles.find_one()
        except OperationFailure as error:
            pytest.skip(f"the user of MONGODB_URL may not read another database: {error}")
    for target in ("/mongo", "/mongo?doc=big", "/gridfs/photo.jpg"):
        problem(lacking.ask(target), 404)


@catches("trace-to-client", "fault-503", "fault-html")
def test_a_query_that_cannot_work(lacking: Controlled) -> None:
    """The tables do not exist."""
    problem(lacking.ask("/agents"), 500)
