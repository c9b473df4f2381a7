"""Responses that are compared with the contract while a server is busy."""

from pathlib import Path

import pytest

import spec
from bench.measuring.responses import Sampler, WrongAnswer
from bench.workloads.workload import load_workload
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
        sampler = Sampler(Subject.at(url), load_workload("fan-out"), tmp_path, [PATH])
        sampler.recheck()
    return sampler


def test_a_busy_server_may_refuse_until_it_has_recovered(tmp_path: Path) -> None:
    assert recheck(tmp_path, 503, 504, 502).checked.after == 1
    with pytest.raises(WrongAnswer, match=r"got +500"):
        recheck(tmp_path, 504, 500)
