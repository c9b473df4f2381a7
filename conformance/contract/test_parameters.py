"""Query parameters: an integer within bounds is served, anything else is a 400."""

import pytest

from conformance.corpus import targets
from conformance.expect import right
from conformance.marks import catches, control, serves
from conformance.subject import Subject


@serves("mongo")
@pytest.mark.parametrize("target", targets("mongo", 400))
@catches("doc-unchecked", "doc-default-for-empty", "plain-400", "detail-no-string")
def test_doc(subject: Subject, target: str) -> None:
    right(subject.ask(target))


@serves("sleep")
@pytest.mark.parametrize("target", targets("sleep", 400))
@catches("number-unbounded", "number-default-for-empty", "number-text-default", "plain-400")
def test_ms_of_sleep(subject: Subject, target: str) -> None:
    right(subject.ask(target))


@serves("slow_api")
@control
@pytest.mark.parametrize("target", targets("slow_api", 400))
@catches("number-unbounded", "number-default-for-empty", "number-text-default", "plain-400")
def test_calls_and_ms_of_slow_api(subject: Subject, target: str) -> None:
    right(subject.ask(target))
