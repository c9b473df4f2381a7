"""Figures in texts come from published results."""

import math
import re
from pathlib import Path

import pytest

from bench.analysis.estimates import Difference
from bench.analysis.words import figure_text
from bench.records.result import Run
from bench.records.warning import Warning
from harness.errors import UsageError
from tests.runs import MACHINE, a_run
from upkeep import reference
from upkeep.claims import Claim, Judged, told_apart
from upkeep.reference import pack
from upkeep.texts import check, texts, update

pytestmark = pytest.mark.quick

ONE = 'figure("box/text", "express/express", 200, "rate", case="1 worker")'


def publish(run: Run, machine: Path) -> None:
    machine.mkdir()
    (machine / f"{run.workload_name}.json.gz").write_bytes(pack(run))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the results ``box/text`` and, of another machine, ``far/text``."""
    folder = tmp_path_factory.mktemp("reference")
    publish(a_run(), folder / "box")
    publish(a_run(machine=MACHINE.model_copy(update={"kernel": "6.2"})), folder / "far")
    return folder


@pytest.fixture
def page(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A text beside these results."""
    monkeypatch.setattr(reference, "REFERENCE", published)
    return tmp_path / "page.md"


def filled(call: str, text: str = "") -> str:
    return f"<!-- {{{{ {call} }}}} -->{text}<!-- end -->"


def lines_of(page: Path, call: str) -> list[str]:
    """The lines of a table."""
    page.write_text(f"# Title\n\n{filled(call)}\n")
    update(page)
    assert check(page) == []
    return re.findall(r"^\|.*", page.read_text(), re.M)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (ONE, "4,059"),
        ('figure("box/text", "express/express", 10, "cpu", case="2 workers")', "117"),
        (
            'ratio("box/text", "express/express", "flask/gevent", 200, "rate", case="1 worker")',
            "1.99 (1.98 to 2.00)",
        ),
        (
            'ratio("box/text", "express/express", "express/express", 10, "cpu", case="2 workers", '
            'of_case="1 worker")',
            "0.50 (0.50 to 0.50)",
        ),
    ],
)
def test_a_figure_is_filled_in(page: Path, call: str, text: str) -> None:
    page.write_text(f"It serves {filled(call, '?')} requests.\n")
    assert [str(one) for one in check(page)] == [
        f"{page}:1: {call} is {text}, not ?: run `./just figures`"
    ]
    assert update(page)
    assert page.read_text() == f"It serves {filled(call, text)} requests.\n"
    assert check(page) == []
    assert not update(page)


CLAIMS = """\
claims("box/text",
  claim("Express is ahead of gevent", "1.99", "express/express", "more", "flask/gevent", 200),
  claim("It takes less CPU time", "0.80", "express/express", "less", "flask/gevent", 200, "cpu"),
  claim("gevent is ahead of Express", "1.10", "flask/gevent", "more", "express/express", 200),
  claim("It is ahead of itself", "1.00", "express/express", "more", "express/express", 200),
  claim("Tornado is as fast as gevent", "1.05", "tornado/tornado", "same", "flask/gevent", 200),
  claim("Express is as fast as gevent", "1.05", "express/express", "same", "flask/gevent", 200),
  claim("Express is ahead of Tornado", "3.00", "express/express", "more", "tornado/tornado", 200,
        unlike="overload, not speed"),
  case="1 worker",
)"""


def test_a_claim_has_three_answers(page: Path) -> None:
    """Whether it can be compared, its direction, and whether its ratio is within the interval."""
    assert lines_of(page, CLAIMS) == [
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


def test_a_server_without_a_rank_is_not_compared(page: Path, published: Path) -> None:
    run = a_run()
    one = next(each for each in run.measurements if each.target == "express/express")
    one.warnings = [Warning(kind="absent-load", values={"share": 0.8})]
    publish(run, published / "unranked")
    claim = f'claim("It is ahead", "1.00", "{one.target}", "more", "tornado/tornado", {one.level})'
    *_, row = lines_of(page, f'claims("unranked/text", {claim}, case="{one.case}")')
    assert "| no: not ranked |" in row


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
    assert told_apart(chances) == told


@pytest.mark.parametrize(
    ("ratio", "deviation", "holds"), [(1, 0.01, True), (1, 0.06, False), (1.09, 0.01, False)]
)
def test_equality_is_proved_by_two_tests(ratio: float, deviation: float, holds: bool) -> None:
    """Within 10%: the 90% interval is."""
    found = Difference(math.log(ratio), deviation, 9)
    claim = Judged(Claim("They are equal", "1.00", "one/a", "same", "other/b", 1), found)
    interval = found.ratio(0.1)
    assert (claim.chances[0] < 0.05) == holds == (1 / 1.1 < interval.low < interval.high < 1.1)


def test_a_table_of_results_counts_spoiled_measurements(page: Path, published: Path) -> None:
    """A measurement counts once, however many warnings spoil it."""
    run = a_run(cases=("1 worker",))
    for one in run.measurements:
        one.warnings = []
    run.measurements[0].warnings = [Warning.of("busy"), Warning.of("unsteady")]
    run.measurements[1].warnings = [Warning.of("busy"), Warning.of("failed")]
    publish(run, published / "spoiled")
    *_, text = lines_of(page, 'results("spoiled")')
    assert text.startswith("| [`text`](../bench/workloads/text.toml) | ")
    assert text.endswith(" | 4 | 3 | 2 of 24 | busy 2, unsteady 1 |")


def test_the_text_of_a_figure() -> None:
    values = (None, math.inf, 0, 0.0004, 0.0006, 0.98765, 12.345, 1234.5)
    words = ("–", "over the timeout", "0", "<0.001", "0.001", "0.988", "12.3", "1,234")
    assert tuple(map(figure_text, values)) == words


@pytest.mark.parametrize(
    ("call", "row"),
    [
        (
            'measured("box/text", 200, "rate", "failed", case="1 worker", tied=true)',
            "| tornado/tornado | 2,050 (2,025 to 2,075) | 0 [0 to 0] | A |",
        ),
        # With two workers at 10, nothing was measured of it
        ('cases("box/text", 10, "cpu")', "| [tornado](../python/tornado) | 460 |  |"),
    ],
)
def test_a_table_is_filled_in(page: Path, call: str, row: str) -> None:
    """More of them are in the repository's own texts, which the last test compares."""
    assert row in lines_of(page, call)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('figure("box/text", "express/express", 200, "rate")', "several cases: add case="),
        (ONE.replace("rate", "speed"), "no figure 'speed', only rate, "),
        (ONE.replace("/express", "/cluster"), "no express/cluster at level 200"),
        (ONE.replace("200", "20"), "nothing at level 20"),
        (ONE.replace("text", "json"), "no published result 'box/json', only box/text"),
        ('figure("box/text", "express/express")', "missing 2 required positional arguments"),
        ('summary("box", "cpu", "short")', "has no attribute 'items'"),
        (CLAIMS.replace("1.99", "twice"), "could not convert string to float: 'twice'"),
        ('results("near")', "there is no published result of 'near'"),
        (
            CLAIMS.replace("200)", '200, of_result="far/text")', 1),
            "box/text and far/text are of different machines",
        ),
        ("figur()", "'figur' is undefined"),
        ("figure(", "unexpected"),
        (CLAIMS.replace('"more"', '"faster"'), "one of more, less, same is needed, not 'faster'"),
        ('answers({"no-such-question": "What"})', "there is no question 'no-such-question'"),
    ],
)
def test_a_call_that_cannot_be_filled(page: Path, call: str, message: str) -> None:
    page.write_text(f"\nIt is {filled(call, '1')}\n")
    (wrong,) = check(page)
    assert message in str(wrong)
    assert wrong.line == 2
    with pytest.raises(UsageError, match=r"page\.md:2: "):
        update(page)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("It serves 900 requests/s.", [3]),
        ("It takes 1.5 ms, which is much.", [3]),
        ("It is 2.5 times as fast.", [3]),
        ("It is 1.3× as fast.", [3]),
        (f"It is <!-- {{{{ {ONE} }}}} -->4,080", [3]),
        ("It is 4,080<!-- end -->", [3]),
        ("<!-- quoted: a page of 2014 -->900 requests/s<!-- end --> are served", [3]),
        ("In `sleep?ms=5 ms` and after 12 sometimes, in 2014.", []),
        ("```sh\necho <!-- {{ figure() }} --> 900 requests/s\n```", []),
        ("They say <!-- quoted: a page -->900 requests/s, 3 times\nothers<!-- end -->.", []),
        ("See [this](https://example.org/3ms).", []),
    ],
)
def test_a_figure_needs_a_result_or_a_source(page: Path, text: str, wrong: list[int]) -> None:
    page.write_text(f"# Title\n\n{text}\n")
    assert [one.line for one in check(page)] == wrong


@pytest.mark.timeout(600)
def test_the_figures_in_the_repository_come_from_published_results() -> None:
    wrong = [one for path in texts() for one in check(path)]
    assert wrong == [], "\n".join(map(str, wrong))
