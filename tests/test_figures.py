"""Figures in texts come from published results."""

import math
import re
from pathlib import Path

import pytest

from bench.analysis.estimates import Difference
from bench.analysis.words import figure_text
from bench.records.warning import Warning
from harness.errors import UsageError
from harness.paths import ROOT
from harness.servers.catalog import find_servers
from tests.runs import MACHINE, a_run
from upkeep import reference, reproduced
from upkeep.claims import _Claim, _told
from upkeep.reference import pack
from upkeep.texts import check, texts, update

pytestmark = pytest.mark.quick

ONE = 'box/text {} 200 {} case="1 worker"'


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A text beside the published result ``box/text``."""
    folder = tmp_path / "reference" / "box"
    folder.mkdir(parents=True)
    (folder / "text.json.gz").write_bytes(pack(a_run()))
    (folder / "short.json.gz").write_bytes(pack(a_run("short", cases=("1 worker",))))
    monkeypatch.setattr(reference, "REFERENCE", folder.parent)
    reference.published.cache_clear()
    reference.published_rows.cache_clear()
    return tmp_path / "page.md"


def figure(words: str, text: str = "?") -> str:
    return f"<!-- figure: {words} -->{text}<!-- /figure -->"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (ONE.format("express/express", "rate"), "4,059"),
        (ONE.format("express/express", "rate") + " interval", "4,059 (4,011 to 4,109)"),
        (ONE.format("express/express", "rate") + " per=flask/gevent", "1.99 (1.98 to 2.00)"),
        (ONE.format("express/express", "rate") + " per=flask/gevent plain", "1.99"),
        (ONE.format("express/express", "rate") + " per=express/express per-level=10 plain", "1.00"),
        ('box/text express/express 10 cpu case="2 workers"', "117"),
    ],
)
def test_a_figure_is_filled_in(page: Path, words: str, text: str) -> None:
    page.write_text(f"It serves {figure(words)} requests.\n")
    assert [str(one) for one in check(page, strict=True)] == [
        f"{page}:1: {words} is {text}, not ?: run `./just figures`"
    ]
    assert update(page)
    assert page.read_text() == f"It serves {figure(words, text)} requests.\n"
    assert check(page, strict=True) == []
    assert not update(page)


CLAIMS = """\
# Claims

<!-- claims: box/text case='1 worker'
Express is ahead of gevent | 1.99 | express/express 200 rate more per=flask/gevent
It takes less CPU time | 0.80 | express/express 200 cpu less per=flask/gevent
gevent is ahead of Express | 1.10 | flask/gevent 200 rate more per=express/express
It is ahead of itself | 1.00 | express/express 200 rate more per=express/express
Tornado is as fast as gevent | 1.05 | tornado/tornado 200 rate same per=flask/gevent
Express is as fast as gevent | 1.05 | express/express 200 rate same per=flask/gevent
Express is ahead of Tornado | 3.00 | express/express 200 rate more per=tornado/tornado {}
-->
<!-- /claims -->
"""


def test_a_claim_has_three_answers(page: Path) -> None:
    """Whether it can be compared, its direction, and whether its ratio is within the interval."""
    page.write_text(CLAIMS.format("unlike='overload, not speed'"))
    update(page)
    assert page.read_text().splitlines()[11:20] == [
        "| Claim | Published | Here | CPU time | Comparable | Direction | Size |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| Express is ahead of gevent | 1.99 | 1.99 (1.97 to 2.01) | 0.50 (0.50 to 0.51) | "
        "yes | **holds** | within |",
        "| It takes less CPU time | 0.80 | 0.50 (0.50 to 0.51) |  | yes | **holds** | outside |",
        "| gevent is ahead of Express | 1.10 | 0.50 (0.50 to 0.51) | 1.99 (1.97 to 2.01) | "
        "yes | **does not hold** | outside |",
        "| It is ahead of itself | 1.00 | 1.00 | 1.00 | yes | cannot be told | within |",
        "| Tornado is as fast as gevent | 1.05 | 1.00 (0.99 to 1.02) | 1.00 (0.98 to 1.01) | "
        "yes | **holds** | outside |",
        "| Express is as fast as gevent | 1.05 | 1.99 (1.97 to 2.01) | 0.50 (0.50 to 0.51) | "
        "yes | **does not hold** | outside |",
        "| Express is ahead of Tornado | 3.00 | 1.98 |  | no: overload, not speed |  |  |",
    ]


def test_a_server_without_a_rank_is_not_compared(page: Path) -> None:
    run = a_run()
    one = next(each for each in run.measurements if each.target == "express/express")
    one.warnings = [Warning(kind="absent-load", values={"share": 0.8})]
    (page.parent / "reference/box/text.json.gz").write_bytes(pack(run))
    words = f"{one.target} {one.level:g} rate more per=tornado/tornado"
    claim = f"<!-- claims: box/text case='{one.case}'\nIt is ahead | 1.00 | {words}\n-->\n"
    page.write_text(f"{claim}<!-- /claims -->\n")
    update(page)
    assert "| no: not ranked |" in page.read_text()


@pytest.mark.parametrize(
    ("chances", "told"),
    [
        ([0.04], [True]),
        ([0.06], [False]),
        ([0.03, 0.03], [False, False]),
        ([0.04, 0.001, 0.02], [True, True, True]),
        ([0.04, 0.001, 0.026], [False, True, False]),
        ([], []),
    ],
)
def test_claims_share_the_error(chances: list[float], told: list[bool]) -> None:
    """Holm's sequence: 5% of as many as are left."""
    assert _told(chances) == told


@pytest.mark.parametrize(
    ("ratio", "deviation", "holds"), [(1, 0.01, True), (1, 0.06, False), (1.09, 0.01, False)]
)
def test_equality_is_proved_by_two_tests(ratio: float, deviation: float, holds: bool) -> None:
    """Within 10%: the 90% interval is."""
    found = Difference(math.log(ratio), deviation, 9)
    claim = _Claim("They are equal", "1.00", "same", None, found, None)
    interval = found.ratio(0.1)
    assert (claim.chances[0] < 0.05) == holds == (1 / 1.1 < interval.low < interval.high < 1.1)


@pytest.mark.parametrize(("kind", "text"), [("", "2 of 48"), ("kind=busy", "1 of 48")])
def test_spoiled_measurements_are_counted(page: Path, kind: str, text: str) -> None:
    """In both results together."""
    for name, warned in ("text", "busy"), ("short", "unsteady"):
        run = a_run(name, cases=("1 worker",))
        for one in run.measurements:
            one.warnings = []
        run.measurements[0].warnings = [Warning.of(warned), Warning.of("failed")]
        (page.parent / f"reference/box/{name}.json.gz").write_bytes(pack(run))
    page.write_text(f"<!-- spoiled: box {kind} text\nshort -->?<!-- /spoiled -->\n")
    update(page)
    assert f"-->{text}<!--" in page.read_text()
    for words, message in (
        ("box kind=late text", "no kind 'late' of warning spoils figures, only busy, "),
        ("box kind=busy", "box kind=busy: a machine and workloads are needed"),
        ("", "a machine and workloads are needed"),
    ):
        page.write_text(f"<!-- spoiled: {words} -->?<!-- /spoiled -->\n")
        with pytest.raises(UsageError, match=message):
            update(page)


def test_figures_of_two_machines_have_no_ratio(page: Path) -> None:
    elsewhere = pack(a_run("far", machine=MACHINE.model_copy(update={"kernel": "6.2"})))
    (page.parent / "reference" / "box" / "far.json.gz").write_bytes(elsewhere)
    words = ONE.format("express/express", "rate") + " per=flask/gevent per-result=box/far"
    page.write_text(figure(words))
    with pytest.raises(UsageError, match="box/text and box/far are of different machines"):
        update(page)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("| 1.99 |", "|", "three parts"),
        ("rate more", "rate", "one of more, less, same is needed"),
        (" per=flask/gevent", "", "one of more, less, same is needed, and per=SERVER"),
    ],
)
def test_a_claim_that_cannot_be_judged(page: Path, old: str, new: str, message: str) -> None:
    page.write_text(CLAIMS.format("").replace(old, new, 1))
    with pytest.raises(UsageError, match=message):
        update(page)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.inf, "over the timeout"),
        (0, "0"),
        (0.0004, "<0.001"),
        (0.0006, "0.001"),
        (0.98765, "0.988"),
        (12.345, "12.3"),
        (1234.5, "1,234"),
    ],
)
def test_the_text_of_a_figure(value: float | None, text: str) -> None:
    assert figure_text(value) == text


def test_a_table_is_filled_in(page: Path) -> None:
    names = "express/express,flask/gevent,tornado/tornado"
    words = f"box/text 200 rate,failed tied case='1 worker' servers={names}"
    page.write_text(f"# Title\n\n<!-- table: {words} -->\n<!-- /table -->\n")
    update(page)
    assert page.read_text().splitlines()[3:8] == [
        "| Server | Requests per second, requests/s | Failed requests, % | Tied |",
        "| --- | ---: | ---: | ---: |",
        "| express/express | 4,059 (4,011 to 4,109) | 0 [0 to 0] |  |",
        "| flask/gevent | 2,040 (2,015 to 2,065) | 0 [0 to 0] | A |",
        "| tornado/tornado | 2,050 (2,025 to 2,075) | 0 [0 to 0] | A |",
    ]
    assert check(page, strict=True) == []


def test_a_summary_is_filled_in(page: Path) -> None:
    page.write_text("<!-- summary: box cpu short:200 -->\n<!-- /summary -->\n")
    update(page)
    lines = page.read_text().splitlines()
    assert lines[1:3] == [
        "| Server | Lines | CPU time of `/index`, µs/request |",
        "| --- | ---: | ---: |",
    ]
    (express,) = (line for line in lines if line.startswith("| [express](node/express) |"))
    assert re.fullmatch(r".* \| \d+ \| 230 \|", express)
    assert len(lines) == 4 + len(find_servers())


def test_a_figure_in_every_case_is_filled_in(page: Path) -> None:
    """Of tornado, nothing was measured with two workers at 10."""
    page.write_text("<!-- cases: box/text 10 cpu -->\n<!-- /cases -->\n")
    update(page)
    assert page.read_text().splitlines()[1:-1] == [
        "| Server | 1 worker, µs/request | 2 workers, µs/request |",
        "| --- | ---: | ---: |",
        "| [express](../node/express) | 230 | 120 |",
        "| [flask](../python/flask) | 1,000 | 520 |",
        "| [flask](../python/flask)/gevent | 470 | 230 |",
        "| [tornado](../python/tornado) | 460 |  |",
    ]


def test_recorded_answers_are_filled_in(page: Path) -> None:
    page.write_text('<!-- answers: two-hosts="Two hosts" -->\n<!-- /answers -->\n')
    update(page)
    lines = page.read_text().splitlines()
    assert lines[1] == "| Server | Two hosts |"
    assert "| [express](../node/express) | **served** |" in lines
    page.write_text("<!-- answers: no-such-question=What -->\n<!-- /answers -->\n")
    with pytest.raises(UsageError, match="there is no question 'no-such-question'"):
        update(page)


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        ("servers", r"\| \[express\]\(\.\./node/express\) \| node \| \d+ \| event loop \| .*"),
        ("deployments", r"\| \[express\]\(\.\./node/express\) \| \d+ \| `express`, `cluster` \|.*"),
    ],
)
def test_servers_are_filled_in(page: Path, kind: str, row: str) -> None:
    page.write_text(f"<!-- {kind}: all -->\n<!-- /{kind} -->\n")
    update(page)
    assert [line for line in page.read_text().splitlines() if re.fullmatch(row, line)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("box/text express/express 200 rate", "several cases: add case="),
        (ONE.format("express/express", "speed"), "no figure 'speed', only rate, "),
        (ONE.format("express/cluster", "rate"), "no express/cluster at level 200"),
        ('box/text express/express 20 rate case="1 worker"', "nothing at level 20"),
        (
            "box/json express/express 200 rate",
            "no published result 'box/json', only box/short, ",
        ),
        (ONE.format("express/express", "rate") + " median", "unknown option 'median'"),
        ("box/text express/express", "4 words are needed"),
    ],
)
def test_a_marker_that_cannot_be_filled(page: Path, words: str, message: str) -> None:
    page.write_text(f"\n{figure(words, '1')}\n")
    (wrong,) = check(page, strict=True)
    assert message in str(wrong)
    assert wrong.line == 2
    with pytest.raises(UsageError, match=r"page\.md:2: "):
        update(page)


@pytest.mark.parametrize(
    "text",
    [
        "It serves 900 requests/s.",
        "It takes 1.5 ms, which is much.",
        "It is 2.5 times as fast.",
        "It is 1.3× as fast.",
        "<!-- figure: box/text express/express 200 rate -->4,080",
        "4,080<!-- /figure -->",
    ],
)
def test_a_figure_that_comes_from_no_result(page: Path, text: str) -> None:
    page.write_text(f"# Title\n\n{text}\n")
    assert [one.line for one in check(page, strict=True)] == [3]


@pytest.mark.parametrize(
    "text",
    [
        "In `sleep?ms=5 ms` and after 12 sometimes, in 2014.",
        "```sh\necho <!-- figure: x --> 900 requests/s\n```",
        "They say <!-- quoted: a page of 2014 -->900 requests/s, 3 times\nothers<!-- /quoted -->.",
        "See [this](https://example.org/3ms).",
    ],
)
def test_what_is_no_figure(page: Path, text: str) -> None:
    page.write_text(f"{text}\n")
    assert check(page, strict=True) == []


@pytest.mark.timeout(600)
def test_the_figures_in_the_repository_come_from_published_results() -> None:
    wrong = [one for path in texts() for one in check(path, strict=path.parent != ROOT)]
    assert wrong == [], "\n".join(map(str, wrong))


def test_two_runs_of_a_workload_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reproduced, "FOLDER", tmp_path)
    first, second = a_run(cases=("1 worker",)), a_run(cases=("1 worker",))
    second.started = "2026-01-02T05:04:05+00:00"
    for one in second.measurements:
        one.rate *= 0.5 if one.target == "express/express" else 1.1
    for name, run in (("first", first), ("second", second)):
        (tmp_path / f"text.{name}.json.gz").write_bytes(pack(run))
    page = tmp_path / "page.md"
    page.write_text("<!-- reproduced: text --><!-- /reproduced -->")
    assert update(page)
    *_, row, _ = page.read_text().splitlines()
    assert row == "| The text workload | 4 | 2.0 | 8 of 40 | 36.5% | 0.0% |"
