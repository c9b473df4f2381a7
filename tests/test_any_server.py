"""Behaviours of servers that know nothing of the contract."""

import itertools
import json
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from conformance.behaviours.lab import Lab
from conformance.behaviours.observe import INQUIRIES, ask
from conformance.behaviours.page import Stranger, Upload, met
from conformance.http import statuses
from conformance.matrix import foreign
from harness.paths import ROOT
from harness.system.processes import wait_until
from tests.handlers import Quiet, served
from tests.tasks import call

CONTENT = b'{"a": 1}'
HELLO = b"Hello! HTTP/1.1 200 OK is how a response begins."


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Python's own server, with one file."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "hello.txt").write_bytes(HELLO)

    class Site(SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            self.directory = str(folder)
            return super().translate_path(path)

        log_message = Quiet.log_message

    with served(Site) as url:
        yield url


class Handler(Quiet):
    """Reads ``Content-Length`` as Python reads integers, with a sign, and knows no chunks."""

    catch_all = False
    unexpected = 422  # the status for other contents than the one that it takes
    seen: list[tuple[str, str, bytes]]

    def do_GET(self) -> None:
        self.seen.append(("GET", self.path, b""))
        self.respond(200 if self.catch_all or self.path == "/hello" else 404, HELLO)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.seen.append(("POST", self.path, body))
        self.respond(200 if body in (b"", CONTENT) else self.unexpected, HELLO)

    def do_HEAD(self) -> None:
        self.seen.append(("HEAD", self.path, b""))
        time.sleep(20)


@contextmanager
def serving(**how: object) -> Iterator[tuple[str, list[tuple[str, str, bytes]]]]:
    """A server with a careless handler, and the requests that it has seen."""
    seen: list[tuple[str, str, bytes]] = []
    with served(type("_Handler", (Handler,), {"seen": seen, **how})) as url:
        yield f"{url}/hello", seen


def answers_of(url: str, upload: Upload | None, *ids: str) -> list[str | None]:
    """A server's answers to these questions."""
    server = Stranger.at(url, upload.path if upload else None)
    lab = Lab(server, patience=2, page=met(server, upload))
    return [ask(lab, INQUIRIES[id]).answer for id in ids]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the questions that wait for half a minute."""
    found = {id: one for id, one in INQUIRIES.items() if one.lane != "waiting"}
    monkeypatch.setattr(foreign, "INQUIRIES", found)


@pytest.mark.usefixtures("hasty")
def test_table_json_page_and_status(stock: str, tmp_path: Path) -> None:
    url = f"{stock}/hello.txt"
    table = call("behaviours", url, "--group", "refusals")
    assert table.returncode == 0, table.stderr
    ratings = re.findall("(?m)^(risky|slow|plain|good) ", table.stdout)
    assert ratings == sorted(ratings, key=["risky", "slow", "plain", "good"].index)
    assert ratings.count("risky") > 1
    words = " ".join(table.stdout.split())
    assert re.search(r"two-hosts served, then closed A proxy [^(]*\(RFC 9112, section 3.2\)", words)

    failing = call("behaviours", url, "--json", "--fail-on", "risky")
    assert failing.returncode == 1
    document = json.loads(failing.stdout)
    answers = {one["id"]: one["answer"] for one in document["answers"]}
    assert document["unanswered"] == {}
    risky = [one for one in document["answers"] if one["rating"] == "risky"]
    assert document["counts"]["risky"] == len(risky) >= ratings.count("risky")
    assert len(answers) > len(ratings)
    assert answers["upper-case-path"] == "not found"
    assert answers["unknown-method"] == "501"
    assert answers["no-version"] == "served as HTTP/0.9"
    assert not {"length-with-sign", "wrong-method", "expect-continue"} & answers.keys()
    texts = {one["id"]: one["question"] for one in document["answers"]}
    assert "`/hello.txt#x`" in texts["fragment-in-target"]

    page = tmp_path / "page.html"
    group = ["--group", "connection", "--fail-on", "risky"]
    good = call("behaviours", url, *group, "--page", str(page))
    assert good.returncode == 0, good.stdout + good.stderr
    assert f"Behaviours of {url}" in page.read_text()


@pytest.mark.quick
@pytest.mark.usefixtures("hasty")
def test_a_server_that_ends_meanwhile_is_not_called_safe() -> None:
    requests = itertools.count(1)

    class Ending(Quiet):
        def do_GET(self) -> None:
            self.respond(200 if self.path == "/hello" else 404, HELLO)
            if next(requests) == 6:
                self.server.shutdown()
                self.server.server_close()

    with served(Ending) as url:
        done = call("behaviours", f"{url}/hello", "--group", "connection", "--fail-on", "risky")
    assert done.returncode == 1
    assert " 0 risky" in done.stdout
    assert "is the server still running?" in done.stderr


@pytest.mark.quick
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{stock}/missing"], "answers 404 to GET: give a path that answers 200"),
        (["https://127.0.0.1:1/"], "TLS is not supported"),
        (["http://127.0.0.1:1/x?y"], "give the address as http://HOST:PORT/path"),
        (["http://127.0.0.1:1/"], "is the server running?"),
        (["{stock}/", "flask"], "ask one URL at a time"),
        (["{stock}/hello.txt", "--post", "/x"], "--post PATH and --body FILE belong together"),
        (
            ["{stock}/hello.txt", "--post", "/x", "--body", "pyproject.toml"],
            "/x answers 501 to POST: give a path and a body that it takes",
        ),
        (["{stock}/", "--post", "/x", "--body", "missing.json"], "is no file, or empty"),
        (["{stock}/hello.txt", "--group", "smuggling"], "these questions need --post"),
        (["flask", "--fail-on", "risky"], "need a URL"),
        (["--group", "smugling"], "the groups are routing"),
    ],
)
def test_what_cannot_be_asked_is_one_line(stock: str, words: list[str], message: str) -> None:
    done = call("behaviours", *[word.format(stock=stock) for word in words])
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.quick
@pytest.mark.parametrize(
    "how", [{}, {"catch_all": True}, {"unexpected": 500}], ids=["404", "catch-all", "fails"]
)
def test_a_hidden_request_is_told_from_what_follows_it(how: dict[str, object]) -> None:
    upload = Upload("/take", CONTENT, "application/json")
    expected = {
        "length-with-sign": "smuggled",
        "zero-and-length": "smuggled",
        "length-and-chunked": "harmless",  # its content is refused, and the connection goes on
        "pipelining": "in order",
    }
    with serving(**how) as (url, seen):
        assert answers_of(url, upload, *expected) == list(expected.values())
    assert {path for method, path, _ in seen if method == "POST"} == {"/take"}


@pytest.mark.quick
@pytest.mark.parametrize(("late", "answer"), [(400, "refused"), (None, "closed")])
def test_a_body_after_the_response(late: int | None, answer: str) -> None:
    """It is refused, or nobody reads it, because the connection ends."""

    class Early(Handler):
        catch_all, seen = False, []

        def do_POST(self) -> None:
            self.rfile.read1(1 << 16)
            self.respond(200, HELLO)
            if late and "Transfer-Encoding" in self.headers:
                self.respond(late)
            self.close_connection = True

    with served(Early) as url:
        upload = Upload("/take", CONTENT)
        assert answers_of(f"{url}/hello", upload, "forbidden-trailer") == [answer]


@pytest.mark.quick
def test_a_page_that_varies_is_told_from_a_list_of_methods() -> None:
    class Varying(Quiet):
        def do_GET(self) -> None:
            self.respond(200, b"%d" % time.monotonic_ns())

        def do_OPTIONS(self) -> None:
            self.send_response(200)
            self.send_header("Allow", "GET")
            self.send_header("Content-Length", "0")
            self.end_headers()

    with served(Varying) as url:
        assert answers_of(url, None, "options-method") == ["lists the methods"]


@pytest.mark.quick
def test_without_post_no_body_is_sent() -> None:
    with serving() as (url, seen):
        server = Stranger.at(url)
        lab = Lab(server, patience=0.3, page=met(server, None))
        for one in INQUIRIES.values():
            if one.needs == "get" and one.lane != "waiting":
                ask(lab, one)
        with pytest.raises(AssertionError, match="POST"), server.connect() as connection:
            connection.send(b"POST /index HTTP/1.1\r\n\r\n")
    assert {method for method, _, _ in seen} == {"GET", "HEAD"}


@pytest.mark.quick
def test_ctrl_c_prints_the_answers_so_far() -> None:
    command = [sys.executable, "-m", "conformance.matrix", "--json"]
    with (
        serving() as (url, seen),
        Popen([*command, url], cwd=ROOT, stdout=PIPE, stderr=PIPE) as task,
    ):
        assert wait_until(lambda: ("HEAD", "/hello", b"") in seen, timeout=60)
        time.sleep(0.5)
        interrupted = time.monotonic()
        task.send_signal(signal.SIGINT)
        output, errors = task.communicate(timeout=20)
        took = time.monotonic() - interrupted
    document = json.loads(output)
    assert task.returncode == 130
    assert took < 4, "it waits for the response to HEAD"
    assert b"interrupted: these are the answers so far" in errors
    assert len(document["answers"]) > 10
    assert "head-of-endpoint" not in {one["id"] for one in document["answers"]}


@pytest.mark.quick
def test_statuses_are_read_from_responses_alone() -> None:
    first = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(HELLO), HELLO)
    assert statuses(first + b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n") == [
        b"200",
        b"404",
    ]
    assert statuses(b"HTTP/1.0 200 OK\r\n\r\n" + first) == [b"200"]
    assert statuses(b"HTTP/1.1 100 Continue\r\n\r\n" + first[:-1]) == [b"200"]
    assert statuses(HELLO) == []
