"""`conform` on servers that are not ours, and its output when behaviours change."""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import spec
from conformance.subject import Subject
from harness.errors import UsageError
from harness.paths import ROOT
from tests.handlers import Quiet, served
from tests.tasks import call, run

pytestmark = pytest.mark.timeout(600)

Whole = dict[str, Future[CompletedProcess[str]]]

WRONG = ROOT / "tests" / "servers" / "wrong"
IPV6 = Path("/proc/net/if_inet6")


class Hello(Quiet):
    """A server that has only /index."""

    hosts: set[str | None] = set()  # noqa: RUF012

    def do_GET(self) -> None:
        self.hosts.add(self.headers["Host"])
        found = self.path == "/index"
        self.respond(200 if found else 404, b"Hello, World!" if found else b"?")


def the_wrong_server(folder: Path, *command: str) -> Path:
    """A copy of it, with another command to run it."""
    shutil.copytree(WRONG, folder, ignore=shutil.ignore_patterns("__pycache__"))
    manifest = (folder / "server.toml").read_text().split("# The same")[0]
    run_line = f"run = {json.dumps(command)}"
    (folder / "server.toml").write_text(re.sub("(?m)^run = .*", lambda _: run_line, manifest))
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """The whole suite on several servers at once, as it mostly waits."""
    folder = tmp_path_factory.mktemp("whole")
    command = (sys.executable, "-m", "http.server", "{port}", "--bind", "127.0.0.1")
    started = the_wrong_server(folder / "started", *command)
    recorded = shutil.copytree(ROOT / "baseline" / "nginx", folder / "recorded")
    record = (recorded / "behaviours.json").read_text()
    changed = record.replace('"trailing-slash": "not found"', '"trailing-slash": "served"')
    (recorded / "behaviours.json").write_text(changed)
    with served(Hello) as hello, ThreadPoolExecutor(3) as pool:
        yield {
            name: pool.submit(run, "conform", *words, timeout=500)
            for name, words in {
                "hello": (hello,),
                "started": (str(started),),
                "recorded": (str(recorded), "--record"),
            }.items()
        }


@pytest.mark.quick
def test_a_failure_is_shown_with_its_curl_line() -> None:
    """And progress, in a pipe too."""
    with served(BaseHTTPRequestHandler) as url:
        done = run("conform", url, "-k", "test_answer and json")
    assert done.returncode == 1
    assert "expected  200\ngot       501" in done.stdout
    assert f"curl -i --path-as-is {url}/json" in done.stdout
    assert re.search(rf"(?m)^testing {url}  1/\d+ test_answer", done.stderr), done.stderr
    assert re.search(rf"(?m)^FAILED  {url}  \d+ s$", done.stderr), done.stderr


@pytest.mark.quick
def test_a_right_server_at_an_address() -> None:
    """Checks that need its databases or its process are left out."""

    class Right(Quiet):
        def do_GET(self) -> None:
            due = spec.expected(self.path)
            self.respond(due.status, due.body, due.media_type or "x/y")

    with served(Right) as url:
        done = call("conform", url, "-k", "test_answer")
    assert done.returncode == 0, done.stdout
    assert re.search("checks need a server that is started here: .*databases", done.stdout)


@pytest.mark.quick
@pytest.mark.skipif(not IPV6.exists() or not IPV6.read_text(), reason="no IPv6 on this machine")
def test_an_ipv6_address() -> None:
    with served(Hello, "::1") as url:
        response = Subject.at(url).ask("/index")
    assert url.removeprefix("http://") in Hello.hosts
    assert response.request.curl(response.url) == f"curl -i --path-as-is '{url}/index'"


@pytest.mark.quick
@pytest.mark.parametrize(
    "address", ["127.0.0.1:99999", "127.0.0.1:abc", "127.0.0.1:0", "[::1", "a..b:80", ":80", "h/x"]
)
def test_a_wrong_address(address: str) -> None:
    with pytest.raises(UsageError, match="give the address as http://HOST:PORT"):
        Subject.at(f"http://{address}")


@pytest.mark.quick
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("{url}", "-k", "no_such_check"), "-k: no check matches 'no_such_check'"),
        (("{url}", "--record"), "--record needs the whole suite on a server that it starts"),
        (("nginx", "-k", "text", "--record"), "--record needs the whole suite"),
    ],
)
def test_what_cannot_be_tested_or_recorded(words: tuple[str, ...], message: str) -> None:
    with served(BaseHTTPRequestHandler) as url:
        done = call("conform", *[word.format(url=url) for word in words])
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.quick
def test_a_failure_to_start_is_reported_once(tmp_path: Path) -> None:
    """Exit status 2 and one line, not one for each check."""
    folder = the_wrong_server(tmp_path / "mine", "sh", "-c", "echo the reason; exit 3")
    done = run("conform", str(folder))
    assert done.returncode == 2
    assert done.stdout.count("ended during startup: exit status 3") == 1
    assert "the reason" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.usefixtures("whole")
def test_the_request_that_fails_can_be_repeated(tmp_path: Path) -> None:
    """A planted fault is named at the end, with a curl line for what `serve` serves."""
    folder = the_wrong_server(tmp_path / "mine", sys.executable, "main.py")
    (tmp_path / "fault").write_text("index-other-byte")
    fault = {"FAULT_FILE": str(tmp_path / "fault")}
    done = run("conform", str(folder), "-k", "text or fingerprint", env=fault)
    assert done.returncode == 1
    last = done.stdout.splitlines()[-40:]
    at = last.index("mine/wrong · text · test_answer[text /index]")
    assert last[at + 2 : at + 4] == ["expected  b'Hello, World!'", "got       b'Hello, world!'"]
    assert f"start the server with `./just serve {folder}`" in done.stdout
    assert last[at + 4] == "repeat    curl -i --path-as-is http://127.0.0.1:8000/index"


def test_behaviours() -> None:
    done = call("behaviours", "nginx", "--group", "smuggling")
    assert done.returncode == 0
    assert "lf-after-chunk-size: smuggled (risky)  server" in done.stdout
    assert "length-and-chunked" not in done.stdout
    assert "length-and-chunked" in call("behaviours", "nginx", "--all").stdout
    everything = json.loads(call("behaviours", "--json").stdout)
    differs = [row["differs"] for row in everything]
    assert differs == sorted(differs, reverse=True)
    assert {"nginx/nginx", "aiohttp/aiohttp"} <= everything[0]["answers"].keys()


def test_a_hello_server(whole: Whole) -> None:
    """It lacks all but one endpoint, and answers the questions that need no other."""
    done = whole["hello"].result()
    assert done.returncode == 1
    assert "lacks /json, /mongo, " in done.stdout
    assert "test_answer[text /index]" not in done.stdout
    assert "behaves like this" in done.stdout
    assert re.search("plain +server-header +name and version", done.stdout)
    assert re.search("good +trailing-slash +not found", done.stdout)
    assert "without an answer" not in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_server_without_an_endpoint(whole: Whole) -> None:
    """It is started, and questions that it cannot answer are not asked."""
    done = whole["started"].result()
    assert done.returncode == 1
    assert re.search("started/wrong lacks /index, .*, /slow_api: answered with 404", done.stdout)
    assert "no 200" not in done.stdout
    assert len(done.stdout.splitlines()) < 100


def test_behaviours_are_recorded(whole: Whole) -> None:
    """What differs from the record is asked again before that."""
    done = whole["recorded"].result()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "asking recorded/nginx again: trailing-slash" in done.stderr
    (wrote,) = re.findall(r"wrote (\d+) answers of recorded/nginx, 1 .* changed: (.*)", done.stderr)
    text = Path(wrote[1]).resolve().read_text()
    answers = json.loads(text)["nginx"]["answers"]
    assert len(answers) == int(wrote[0])
    assert answers["trailing-slash"] == "not found"
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
