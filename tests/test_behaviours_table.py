"""The behaviours as the terminal shows them."""

import io

import pytest
from rich.console import Console

from conformance.matrix.cli import show
from conformance.matrix.rows import Row
from tests.test_behaviours_page import ROWS

pytestmark = pytest.mark.quick


def table(rows: list[Row], *, width: int = 100, everything: bool = False) -> str:
    output = io.StringIO()
    show(rows, Console(file=output, width=width), everything=everything)
    return output.getvalue()


def test_deployments_are_named_where_their_answers_differ() -> None:
    shown = table(ROWS)
    assert (
        """\
zero-and-length  server, MUST in RFC 9112
  refused (good): all others
  smuggled (risky): flask/gevent
keep-alive  server, SHOULD in RFC 9112
  kept (good): all others
  closed (slow): flask/gevent express/cluster
semicolon  framework
"""
        in shown
    )
    assert "of 6 questions, 2 have risky answers (server 1, driver 1), 4 have different" in shown


def test_one_harmless_answer_is_shown_only_if_asked_for() -> None:
    shown = table(ROWS)
    assert "postgresql-hangs: none within 8 s (risky)  driver\n" in shown
    assert "date:" not in shown
    assert "left out: 1 with one harmless answer (--all)" in shown
    shown = table(ROWS, everything=True)
    assert "date: sent (good)  server, MUST in RFC 9110\n" in shown
    assert "--all" not in shown


def test_a_single_deployment_needs_no_names() -> None:
    shown = table(
        [Row(one.question, {"flask/gevent": one.answers["flask/gevent"]}) for one in ROWS]
    )
    assert shown.splitlines()[:3] == [
        "zero-and-length: smuggled (risky)  server, MUST in RFC 9112",
        "keep-alive: closed (slow)  server, SHOULD in RFC 9112",
        "postgresql-hangs: none within 8 s (risky)  driver",
    ]
    assert "of 6 questions, 2 have risky answers (server 1, driver 1)\n" in shown
    assert "all others" not in shown
    assert "different" not in shown


def test_no_line_is_wider_than_the_terminal_or_padded() -> None:
    lines = table(ROWS, width=40, everything=True).splitlines()
    answers = [line for line in lines if line.startswith("  ")]
    assert any(line.startswith("    ") for line in answers)
    assert max(map(len, answers)) <= 40
    assert all(line == line.rstrip() for line in lines)
