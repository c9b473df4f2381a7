"""Responses that are compared with the contract while a server is busy."""

import http.server
from pathlib import Path

import pytest

import spec
from bench.measuring.responses import Contract, Sampler, WrongAnswer
from conformance.subject import Subject
from tests.handlers import served

pytestmark = pytest.mark.quick

PATH = "/slow_api?calls=1&ms=0"


class Recovering(http.server.BaseHTTPRequestHandler):
    """Answers with each of the statuses once, and then as the contract says."""

    statuses: list[int]

    def do_GET(self) -> None:
        status, media_type, body = 200, spec.JSON, spec.expected(PATH).body
        if self.statuses:
            status, media_type = self.statuses.pop(0), spec.PROBLEM
            body = spec.problem(status)
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def recheck(tmp_path: Path, *statuses: int) -> Sampler:
    """What is found after the load on a server that first answers with these statuses."""
    handler = type("Handler", (Recovering,), {"statuses": list(statuses)})
    with served(handler) as url:
        sampler = Sampler(Subject.at(url), Contract(tmp_path), [PATH])
        sampler.recheck()
    return sampler


def test_a_busy_server_may_refuse_until_it_has_recovered(tmp_path: Path) -> None:
    assert recheck(tmp_path, 503, 504, 502).after == 1


def test_another_status_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(WrongAnswer, match=r"got +500"):
        recheck(tmp_path, 504, 500)
