"""/json: an object, encoded as the contract defines."""

from conformance.expect import right
from conformance.marks import catches, serves
from conformance.subject import Subject


@serves("json")
@catches("json-spaces", "json-other-charset", "json-newline")
def test_json(subject: Subject) -> None:
    right(subject.ask("/json"))
