"""Responses that are compared with the contract while a server is busy."""

from pathlib import Path

import pytest

import spec
from bench.measuring.responses import Contract, Sampler, WrongAnswer
from conformance.subject import Subject
from tests.handlers import Quiet, served

pytestmark = pytest.mark.quick

PATH = "/slow_api?calls=1&ms=0"


def recheck(tmp_path: Path, *statuses: int) -> Sampler:
    """What is found after the load on a server that answers with these statuses, then rightly."""
    left = list(statuses)

    class Recovering(Quiet):
        def do_GET(self) -> None:
            if left:
                self.respond(left[0], spec.problem(left.pop(0)), spec.PROBLEM)
            else:
                self.respond(200, spec.expected(PATH).body, spec.JSON)

    with served(Recovering) as url:
        sampler = Sampler(Subject.at(url), Contract(tmp_path), [PATH])
        sampler.recheck()
    return sampler


def test_a_busy_server_may_refuse_until_it_has_recovered(tmp_path: Path) -> None:
    assert recheck(tmp_path, 503, 504, 502).checked.after == 1
    with pytest.raises(WrongAnswer, match=r"got +500"):
        recheck(tmp_path, 504, 500)


def test_a_refusal_can_be_the_right_answer(tmp_path: Path) -> None:
    """Of a request with a body: with a detail of any length, and nothing but a problem."""
    answers = iter(
        [
            (
                422,
                b'{"type":"about:blank","title":"Unprocessable Content","status":422,"detail":"x"}',
            ),
            (200, spec.problem(422)),
        ]
    )

    class Refusing(Quiet):
        def do_POST(self) -> None:
            assert self.rfile.read(int(self.headers["Content-Length"])) == b"[]"
            status, body = next(answers)
            self.respond(status, body, spec.PROBLEM)

    with served(Refusing) as url:
        contract = Contract(tmp_path, refusals=(400, 422))
        sampler = Sampler(Subject.at(url), contract, ["/notes"], body="[]")
        assert sampler.ask("/notes")
        with pytest.raises(WrongAnswer, match=r"expected +400 or 422"):
            sampler.ask("/notes")
