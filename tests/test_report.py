"""The report's files, and the runs that it shows."""

import csv
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.records import store
from bench.records.measurement import Warmup
from bench.records.store import read, write
from bench.records.warning import Warning
from bench.report import folder
from bench.report.cli import main
from bench.report.code import Code
from bench.report.folder import write_report
from bench.report.overview import tables_of
from bench.report.picture import overview_svg
from bench.report.rendering import overview_page
from bench.report.section import sections_of
from bench.report.values import NINES, by_percentile
from harness.errors import UsageError
from harness.paths import ROOT
from tests.runs import MACHINE, a_failure, a_run, short

pytestmark = [pytest.mark.timeout(300), pytest.mark.quick]

BEST = "express/express"
ELSEWHERE = MACHINE.model_copy(update={"cpu": "another CPU"})


def test_the_data_are_files_too(tmp_path: Path) -> None:
    runs = [a_run(), short("search", model="capacity")]
    folder = write_report(runs, tmp_path / "report").parent
    data = folder / "data"
    assert {path.name for path in folder.iterdir()} == {
        *("index.html", "text.html", "search.html", "data")
    }
    assert {path.name for path in data.iterdir()} == {
        *("text.json", "text.csv", "search.json", "search.csv", "vega.js")
    }
    assert read(data / "text.json") == runs[0]
    lines = list(csv.DictReader((data / "text.csv").read_text().splitlines()))
    assert len(lines) == len(runs[0].measurements)
    assert float(lines[0]["latency_p99"]) == pytest.approx(10 / runs[0].measurements[0].rate * 1e3)
    assert (lines[3]["warnings"], lines[-1]["warnings"]) == ("", "")
    assert {line["warnings"] for line in lines} == {"", "busy"}


def _contents(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_an_earlier_report_is_replaced_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "report"
    place.mkdir()
    write_report([short("text")], place)
    before = _contents(tmp_path)
    assert {"report/text.html", "report/data/text.json"} < set(before)
    write_report([short("text")], place)
    assert _contents(tmp_path) == before, "the same results give the same files"

    def fail(*_: object) -> str:
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(folder, "as_csv", fail)
        with pytest.raises(OSError, match="no space"):
            write_report([short("json")], place)
    assert _contents(tmp_path) == before
    write_report([short("json")], place)
    after = _contents(tmp_path)
    assert {"report/json.html", "report/data/json.json"} < set(after)
    assert not any("text" in name for name in after)


@pytest.mark.parametrize(
    ("name", "after"), [("index.html", False), ("data/photo.png", False), ("own.html", True)]
)
def test_files_of_others_are_left_alone(tmp_path: Path, name: str, after: bool) -> None:
    if after:
        write_report([short()], tmp_path)
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    with pytest.raises(UsageError, match="give an empty folder"):
        write_report([short()], tmp_path)
    assert path.read_text() == "mine"


def test_without_names_it_shows_the_newest_complete_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "RESULTS", tmp_path)
    nothing = CliRunner().invoke(main)
    assert nothing.exit_code == 2
    assert "`./just bench text --quick`" in nothing.output
    # An old one, a new one, and one that was stopped
    for number, complete in enumerate((True, True, False), 1):
        run = short(repeats=1, complete=complete)
        run.id, run.started = f"run-{number}", f"2026-01-0{number}T00:00:00"
        write(run)
    (tmp_path / "broken.json").write_text("{")
    done = CliRunner().invoke(main)
    assert done.exit_code == 0, done.output
    page = tmp_path / "report" / "index.html"
    assert done.stdout.strip() == str(page)
    assert "run-2" in (page.parent / "text.html").read_text()
    assert len(list((page.parent / "data").glob("*.json"))) == 1
    named = CliRunner().invoke(main, ["run-1", "run-3"])
    assert named.exit_code == 0, named.output
    both = (page.parent / "text.html").read_text()
    assert "run-1" in both
    assert "run-3" in both


def test_the_overview_compares_servers_of_one_machine() -> None:
    closed, rate = short(), short("rate", model="constant rate")
    closed.failures = [a_failure("flask/gevent", "wrong")]
    closed.measurements = [one for one in closed.measurements if one.target != "flask/gevent"]
    tables = tables_of(sections_of([closed, rate, short(machine=ELSEWHERE)]))
    assert [len(table.columns) for table in tables] == [2, 1]
    by_rate, by_time = tables[0].columns
    assert (by_rate.best, by_time.best) == (BEST, BEST)
    assert by_rate.share("flask/gunicorn") == pytest.approx(900 / 4000, rel=0.02)
    assert by_time.share("flask/gunicorn") == pytest.approx(900 / 4000, rel=0.02)
    assert by_rate.missing("flask/gevent") == "wrong response"
    assert by_rate.ranked_value("flask/gevent") is None
    assert by_rate.standing(BEST) == "best"
    assert by_rate.standing("flask/gunicorn") == ""
    assert next(iter(tables[0].servers)) == BEST


def test_only_general_runs_under_the_newest_contract_have_columns() -> None:
    """Not those of some or of few servers, in several cases, or under an older contract."""
    published, several = short("published", servers=[BEST]), a_run("several", levels=(10,))
    few, old, general = short("few"), short("old"), short("general")
    few.servers = {BEST: few.servers[BEST]}
    few.measurements = [one for one in few.measurements if one.target in few.servers]
    for server in old.servers.values():
        server.fingerprint = "of another contract"
    general.started = "2999-01-01T00:00:00+00:00"
    (table,) = tables_of(sections_of([published, several, few, old, general]))
    assert [section.name for section in table.columns] == ["general"]
    assert [section.name for section in table.others] == ["few", "old", "published", "several"]
    for run in (published, old):
        (alone,) = tables_of(sections_of([run]))
        assert [section.name for section in alone.columns] == [run.workload_name]


def test_the_machine_that_measured_most_under_the_newest_contract_comes_first() -> None:
    one, other = short("one"), [short(name, machine=ELSEWHERE) for name in ("two", "three")]
    far = MACHINE.model_copy(update={"cpu": "an older CPU"})
    old = [short(f"old-{at}", machine=far) for at in range(3)]
    rare = [short(f"rare-{at}", servers=[BEST]) for at in range(3)]
    for run in old:
        for server in run.servers.values():
            server.fingerprint = "of another contract"
    one.started = "2999-01-01T00:00:00+00:00"
    first, second, third = tables_of(sections_of([one, *rare, *old, *other]))
    assert [section.name for section in first.columns] == ["two", "three"]
    assert [section.name for section in second.columns] == ["one"]
    assert len(third.columns) == 3


def test_a_warm_up_is_said_to_be_judged_only_where_it_was() -> None:
    run = short("one")
    for judged, text in (
        (False, "that the server's manifest sets"),
        (True, "until the rate was level"),
    ):
        run.measurements[0].warmup = Warmup(seconds=3, requests=9, judged=judged)
        (section,) = sections_of([run])
        assert text in section.warmup


def test_the_picture_leaves_refusals_out() -> None:
    served, refused = short("one"), short("two", statuses=[404])
    (table,) = tables_of(sections_of([served, refused]))
    assert ">The two workload<" not in overview_svg(table)
    (only,) = tables_of(sections_of([refused]))
    assert ">The two workload<" in overview_svg(only)


def test_results_of_one_kind_of_machine_stand_in_one_table() -> None:
    restarted = MACHINE.model_copy(
        update={"kernel": "6.2", "boot": "another", "memory": 8_000_100_000}
    )
    patched = MACHINE.model_copy(update={"microcode": "0x2"})
    sections = sections_of([short(), short(machine=restarted), short(machine=patched)])
    assert [section.heading for section in sections] == [
        "2 cores, a CPU, 7 GiB, Debian, kernel 6.1",
        "2 cores, a CPU, 7 GiB, Debian, kernel 6.2",
        "2 cores, a CPU, microcode 0x2, 7 GiB, Debian, kernel 6.1",
    ]
    first, second = tables_of(sections)
    assert (first.heading, len(first.columns)) == ("2 cores, a CPU, 7 GiB", 2)
    assert second.heading == "2 cores, a CPU, microcode 0x2, 7 GiB"


def test_a_wide_interval_is_not_a_tie() -> None:
    """A server that reaches the best in one repeat, and is far behind in the others."""
    rates = {("flask/gunicorn", 1): 4100.0, ("flask/gunicorn", 2): 900.0}
    run = short(repeats=5)
    for one in run.measurements:
        one.rate = rates.get((one.target, one.repeat), one.rate)
    (table,) = tables_of(sections_of([run]))
    (section,) = table.columns
    assert section.first_rows["flask/gunicorn"].tied, "its interval includes the best"
    assert section.standing("flask/gunicorn") == "noisy"
    assert section.standing(BEST) == "best"
    assert overview_svg(table).count('class="noisy"') == 1
    assert 'class="share noisy"' in overview_page([table], None)


def test_a_server_whose_load_was_not_there_is_not_ranked() -> None:
    run = short()
    for one in run.measurements:
        if one.target == BEST:
            one.warnings = [Warning(kind="overload", values={"share": 0.95})]
    (table,) = tables_of(sections_of([run]))
    (section,) = table.columns
    assert (section.ranked_value(BEST), section.best) == (None, "tornado/tornado")
    assert "not ranked</a>" in overview_page([table], None)
    best, *_, last = section.first_rows.values()
    assert best.relative
    assert best.relative.value == 1
    assert (last.target, last.tied, last.relative) == (BEST, "", None)


def test_failed_requests_are_in_the_curves_of_response_times() -> None:
    repeats = short().measurements[:2]
    curve = by_percentile(repeats, timeout=5)
    assert curve is not None
    at_median = dict(zip(curve["x"], curve["value"], strict=True))[0.3]
    assert at_median == pytest.approx((1 - 10**-0.3) * 110, rel=0.05)
    assert not any(curve["over"])
    repeats[0].errors.timeout = 2000  # half of all requests
    failing = by_percentile(repeats, timeout=5)
    assert failing is not None
    over = [x for x, is_over in zip(failing["x"], failing["over"], strict=True) if is_over]
    assert over == [nines for nines in NINES if nines > 0.302]
    assert failing["value"][-1] == 5000


def test_code_is_linked_at_the_commit() -> None:
    run = short()
    run.project = "v1.2-3-g0123456789ab+"
    hosted = Code(ROOT / "docs", "https://example.org/o/r/")
    assert (
        hosted.link(run, "python/a b") == "https://example.org/o/r/tree/0123456789ab/python/a%20b"
    )
    assert Code(ROOT / "docs" / "x").link(run, "python/a") == "../../python/a"
    assert Code(ROOT.parent).link(run, "python/a") is None
