"""Query parameters: an integer within bounds is served, anything else is a 400."""

import pytest

from conformance.corpus import corpus
from conformance.expect import right
from conformance.marks import catches, control, serves
from conformance.subject import Subject


def _targets(part: str) -> list[str]:
    return [one.target for one in corpus([part]) if one.expected.status == 400]


@serves("mongo")
@pytest.mark.parametrize("target", _targets("mongo"))
@catches("doc-unchecked", "doc-default-for-empty", "plain-400", "detail-no-string")
def test_doc(subject: Subject, target: str) -> None:
    right(subject.ask(target))


@serves("sleep")
@pytest.mark.parametrize("target", _targets("sleep"))
@catches("number-unbounded", "number-default-for-empty", "number-text-default", "plain-400")
def test_ms_of_sleep(subject: Subject, target: str) -> None:
    right(subject.ask(target))


@serves("slow_api")
@control
@pytest.mark.parametrize("target", _targets("slow_api"))
@catches("number-unbounded", "number-default-for-empty", "number-text-default", "plain-400")
def test_calls_and_ms_of_slow_api(subject: Subject, target: str) -> None:
    right(subject.ask(target))
