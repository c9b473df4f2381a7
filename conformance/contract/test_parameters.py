"""Query parameters: defaults, bounds, form, order."""

import pytest

from conformance.corpus import Exchange, corpus, normalised
from conformance.expect import same
from conformance.faults import catches
from conformance.needs import control, serves
from conformance.subject import Subject


def _exchanges(part: str) -> list[Exchange]:
    return [exchange for exchange in corpus([part]) if "?" in exchange.request.target]


def check(subject: Subject, exchange: Exchange) -> None:
    request = exchange.request
    response = subject.ask(request.target, request.method, dict(request.headers), request.body)
    got = vars(normalised(exchange, response))
    for what, expected in vars(exchange.answer).items():
        same(what.replace("_", " "), expected, got[what], response)


@serves("mongo")
@pytest.mark.parametrize("exchange", _exchanges("mongo"), ids=lambda exchange: exchange.name)
@catches(
    "doc-unchecked", "doc-twice", "doc-other-detail", "names-any-case", "doc-default-for-empty"
)
def test_doc(subject: Subject, exchange: Exchange) -> None:
    check(subject, exchange)


@serves("sleep")
@pytest.mark.parametrize("exchange", _exchanges("sleep"), ids=lambda exchange: exchange.name)
@catches("number-lenient", "number-unbounded", "number-twice", "number-long", "number-other-detail")
@catches("number-unicode", "number-default-for-empty")
def test_ms_of_sleep(subject: Subject, exchange: Exchange) -> None:
    check(subject, exchange)


@serves("slow_api")
@control
@pytest.mark.parametrize("exchange", _exchanges("slow_api"), ids=lambda exchange: exchange.name)
@catches("number-lenient", "number-unbounded", "number-twice", "number-long", "number-other-detail")
@catches("number-unicode", "ms-before-calls")
def test_calls_and_ms_of_slow_api(subject: Subject, exchange: Exchange) -> None:
    check(subject, exchange)


@serves("text", "json")
@pytest.mark.parametrize("exchange", _exchanges("text") + _exchanges("json"), ids=lambda e: e.name)
@catches("query-refused")
def test_other_members_are_ignored(subject: Subject, exchange: Exchange) -> None:
    check(subject, exchange)
