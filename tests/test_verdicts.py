"""Verdicts: what they depend on, which failures come first, and what is compared."""

import io
import json
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from rich.console import Console

from conformance import records
from conformance import verdict as verdicts
from conformance.causes import causes
from conformance.http import Request
from conformance.prove import _prepare
from conformance.report import show
from conformance.run import Examination
from conformance.verdict import Check, Verdict
from harness.console import progress_bar
from harness.paths import ROOT
from harness.servers.catalog import Target, find_target
from harness.servers.source import source_files
from spec.behaviours import questions
from tests.handlers import Quiet, served
from tests.programs import execute

pytestmark = pytest.mark.quick

# On a system that lacks what only Linux has
LOADED = """import os, socket, sys
del os.sched_getaffinity, socket.TCP_QUICKACK
import conformance.behaviours.observe, conformance.cli
print(*sys.modules)"""

# An answer to every question
ANSWERS = {id: next(iter(question.answers)) for id, question in questions().items()}


def failed(part: str, name: str, request: str = "", status: int = 200, what: str = "body") -> Check:
    repeat = f"curl http://127.0.0.1:8000{request}" if request else ""
    message = f"GET {request}: {what} in {name}" if request else "[Errno 111] Connection refused"
    return Check(part, name, "failed", 0, message, repeat, request, status, what)


def a_verdict(*checks: Check, **fields: object) -> Verdict:
    verdict = Verdict("mine/mine", "mine", **fields)  # type: ignore[arg-type]
    verdict.checks = [*checks, Check("text", "test_index", "passed")]
    verdict.finish()
    return verdict


def shown(*verdicts: Verdict) -> list[str]:
    output = io.StringIO()
    show(verdicts, Console(file=output, width=160))
    return output.getvalue().splitlines()


JSON = failed("json", "test_json", "/json")
SLEEP = failed("sleep", "test_sleeps", "/sleep?ms=300")


def test_general_checks_are_counted_below_the_endpoint_that_they_ask() -> None:
    general = [
        failed("concurrency", "test_many[text]", "/json"),
        failed("concurrency", "test_many[json]", "/json"),
        failed("schema", "test_operation", "/json", 0, ""),
    ]
    text = shown(a_verdict(JSON, SLEEP, *general))
    shown_in_full = [line for line in text if line.startswith("mine/mine · ")]
    assert shown_in_full == ["mine/mine · json · test_json", "mine/mine · sleep · test_sleeps"]
    assert "also failed, probably for the same reason: concurrency (2), schema (1)" in text


def test_another_part_of_the_response_is_another_cause() -> None:
    article = failed("mongo", "test_article", "/mongo?doc=big")
    outage = failed("availability", "test_an_outage", "/mongo", 500, "status")
    slow = failed("concurrency", "test_many[sleep]", "/sleep?ms=1")
    assert [one.shown for one in causes([article, slow, outage])] == [[article], [slow], [outage]]


def test_the_end_of_a_server_is_one_cause() -> None:
    refused = [
        failed(part, "test_it", what="") for part in ("mongo", "mongo", "files", "floor", "process")
    ]
    (cause,) = causes(refused)
    assert cause.shown == refused[:3]
    assert cause.others == {"floor": 1, "process": 1}


def test_an_endpoint_is_lacking_only_if_its_example_is_not_found() -> None:
    """Not if all of its checks fail for another reason."""
    missing = [
        failed("mongo", "test_small", "/mongo", 404),
        failed("gridfs", "a", "/gridfs/a", 404),
    ]
    text = shown(a_verdict(JSON, failed("json", "test_more", "/json"), *missing))
    assert "mine/mine lacks /mongo: answered with 404" in text
    assert "mine/mine · gridfs · a" in text
    assert not any("test_small" in line for line in text)


def test_the_last_lines_of_a_long_output_name_the_fault() -> None:
    text = shown(a_verdict(JSON, compared=False, behaviours=ANSWERS, unrecorded=True))
    assert len(text) > 100
    assert {"mine/mine · json · test_json", f"repeat    {JSON.repeat}"} <= set(text[-40:])
    assert "to repeat a request, start the server with `./just serve mine`" in text[-40:]
    assert text[-1] == "failed: mine/mine (1 of 2 checks)"
    short = shown(a_verdict(JSON))
    assert short.count("mine/mine · json · test_json") == 1


def test_questions_that_a_fault_leaves_without_an_answer_take_one_line() -> None:
    unanswered = dict.fromkeys(questions(), "no 200")
    text = shown(a_verdict(JSON, unanswered=unanswered))
    assert len(text) < 20
    assert any(line.endswith(f"and {len(questions()) - 8} more") for line in text)
    assert len(shown(a_verdict(unanswered=unanswered))) > len(questions())


@pytest.fixture
def target(tmp_path: Path) -> Target:
    """A server outside of this repository, without a record."""
    manifest = (ROOT / "tests" / "servers" / "wrong" / "server.toml").read_text()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "server.toml").write_text(manifest)
    return find_target(str(tmp_path / "mine"))


@pytest.mark.parametrize("ours", [True, False])
def test_a_server_without_a_record_gets_one_line(target: Target, ours: bool) -> None:
    """It fails only if it is one of this repository's; no question is asked again."""
    verdict = a_verdict(compared=ours, behaviours=ANSWERS)
    verdict.compare(target)
    assert verdict.unrecorded
    assert verdict.passed == (not ours)
    assert verdict.doubtful == []
    text = [line for line in shown(verdict) if "--record" in line]
    assert text == [
        "no recorded behaviours: mine/mine: `./just conform mine --record` records them"
    ]
    assert not any("recorded  nothing" in line for line in shown(verdict))


def test_a_record_is_compared_wherever_the_server_is(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = records.write(target, ANSWERS)
    verdict = a_verdict(Check("head", "test_head", "skipped"), behaviours=dict(ANSWERS))
    verdict.compare(target)
    assert verdict.passed
    text = shown(verdict)
    assert len(text) < 6
    assert "1 passed" in text[1]
    assert text[-1] == "1 checks passed"
    del verdict.behaviours["file-memory-ten"]
    verdict.compare(target)
    assert not verdict.passed
    monkeypatch.setattr(sys, "platform", "darwin")
    verdict.compare(target)
    assert verdict.passed, "a question that can only be asked on Linux"
    record.write_text(re.sub('"python": ".*"', '"python": "2.7"', record.read_text()))
    verdict.behaviours = ANSWERS | {"trailing-slash": "served"}
    verdict.compare(target)
    assert not verdict.passed
    assert verdict.doubtful == ["trailing-slash"]
    text = shown(verdict)
    changed = text.index("mine/mine · behaviour · trailing-slash")
    assert text[changed + 2 : changed + 4] == ["recorded  not found", "seen      served"]
    assert any(line.startswith("mine/mine: versions that changed: python 2.7 → ") for line in text)


def state_of(target: Target) -> str:
    return verdicts.states_of([target])[target.name]


def test_a_verdict_ends_with_a_change_to_its_server_or_of_its_file(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdicts, "RUN", tmp_path)
    (tmp_path / "verdicts").mkdir()
    state = state_of(target)
    verdicts.keep(target, a_verdict(compared=False, state=state, fingerprint="its"))
    added = target.server.folder / "added"
    added.touch()
    assert verdicts.passed_as(target, state_of(target)) is None
    added.unlink()
    assert verdicts.passed_as(target, state_of(target)) == "its"
    (path,) = (tmp_path / "verdicts").iterdir()
    for text in ("", "{", "[]", "null", '{"passed": true}'):
        path.write_text(text)
        assert verdicts.passed_as(target, state) is None, text


def test_what_the_suite_loads_decides_a_verdict() -> None:
    done = execute(sys.executable, "-c", LOADED)
    found = filter(verdicts.is_of_the_suite, source_files(ROOT))
    files = {path.relative_to(ROOT).as_posix() for path in found}
    modules = {name.replace(".", "/") for name in done.stdout.split()}
    ours = {name for name in modules if name.split("/")[0] in ("spec", "harness", "conformance")}
    loaded = {name for name in ours if (ROOT / f"{name}.py").exists()}
    assert len(loaded) > 50
    assert {f"{one}.py" for one in loaded} - files == set()
    for name in verdicts._NOT_THE_SUITE:
        assert (ROOT / name).exists()
        assert not any(file.startswith(name) for file in files)


def test_tasks_accept_the_name_that_is_shown(target: Target) -> None:
    assert find_target("flask").called == "flask"
    assert find_target("flask/gevent").called == "flask/gevent"
    assert find_target(target.called).path == target.path
    other = find_target(f"{target.server.folder}/denied")
    assert find_target(other.called).path == other.path


def test_a_server_that_does_not_start_ends_the_rest(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its other processes would wait as long for it; the wait is announced once."""
    verdict = Verdict("mine/mine")
    examination = Examination("mine", verdict, tmp_path / "log", lambda *_: None)
    waiting = json.dumps({"event": "waiting", "message": "waiting for it"})
    unstarted = json.dumps({"event": "unstarted", "message": "it does not start"})
    first = f"print('''{waiting}\n{waiting}\n{unstarted}''', flush=True); exit(1)"
    start = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        other = pool.submit(examination._run, "other", ["sleep", "60"])
        time.sleep(0.2)
        examination._run("first", [sys.executable, "-c", first])
        other.result()
    assert time.monotonic() - start < 30
    assert verdict.unstarted
    assert verdict.error == "it does not start"
    assert capfd.readouterr().err.count("waiting for it") == 1


def test_the_bar_fills_and_shows_the_time(tmp_path: Path) -> None:
    bar = progress_bar()
    _prepare("http://127.0.0.1:1", tmp_path, bar).progress(1, 4, "test_json")
    (task,) = bar.tasks
    assert task.percentage == 25
    assert task.elapsed is not None


@pytest.mark.parametrize(
    "request_",
    [
        Request("/sleep?ms=1&x=2"),
        Request("/files/../outside.txt"),
        Request("/files//{outside}"),
        Request("/mongo?doc[]=a&doc={b,c}"),
        Request("/files/it's$HOME`x`"),
        Request("/index", headers=(("X-Request-Id", 'it\'s "$HOME"'),)),
        Request("/index", "HEAD"),
        Request("/index", "BREW"),
        Request("/notes", "POST", (("Content-Type", "application/json"),), '{"é": ""}'.encode()),
    ],
    ids=lambda request: f"{request.method} {request.target}",
)
def test_a_curl_line_can_be_pasted(request_: Request) -> None:
    received: list[str] = []

    class Kept(Quiet):
        def handle_one_request(self) -> None:
            line, self.close_connection = self.rfile.readline(), True
            head = line + b"".join(iter(self.rfile.readline, b"\r\n"))
            length = re.search(rb"Content-Length: (\d+)", head)
            received.append((head + self.rfile.read(int(length[1]) if length else 0)).decode())
            self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")

    with served(Kept) as url:
        command = ["sh", "-c", request_.curl(url)]
        subprocess.run(command, check=True, capture_output=True, timeout=20)
    assert received[0].startswith(f"{request_.method} {request_.target} HTTP/1.1\r\n")
    assert all(f"\r\n{name}: {value}\r\n" in received[0] for name, value in request_.headers)
    assert received[0].endswith(request_.body.decode())
