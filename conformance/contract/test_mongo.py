"""/mongo: documents are read for each request."""

import spec
from conformance.expect import reads_each_time
from conformance.marks import catches, control, serves
from conformance.subject import Controlled

pytestmark = serves("mongo")


@control
@catches("cached-article")
def test_each_request_reads_the_database(controlled: Controlled) -> None:
    least = len(spec.json_body(spec.article("big"))) // 2
    reads_each_time(controlled, "/mongo?doc=big", controlled.mongodb, least)
