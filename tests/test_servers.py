"""Every server of the repository keeps the contract, and `conform` tells what it finds."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conformance.verdict import has_passed
from harness.catalog import find_servers, find_target, find_targets
from harness.paths import ROOT
from harness.ports import free_port
from tests.tasks import run, started

pytestmark = pytest.mark.timeout(3600)


def test_every_server_keeps_the_contract(tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    done = run("conform", "all", "--json", "--junit", str(junit), timeout=3500)
    verdicts = json.loads(done.stdout)
    failures = {
        verdict["target"]: verdict["error"]
        or [
            f"{check['part']}: {check['name']}: {check['message']}"
            for check in verdict["checks"]
            if check["outcome"] != "passed"
        ]
        for verdict in verdicts
        if not verdict["passed"]
    }
    assert failures == {}
    targets = find_targets(("all",))
    assert [verdict["target"] for verdict in verdicts] == [target.name for target in targets]
    whole = {target.name for target in targets if target.server.manifest.parts is None}
    fingerprints = {one["fingerprint"] for one in verdicts if one["target"] in whole}
    assert len(fingerprints) == 1
    assert done.returncode == 0
    assert all(has_passed(target) for target in targets)
    suites = ElementTree.parse(junit).getroot().findall("testsuite")
    assert [suite.get("name") for suite in suites] == [target.name for target in targets]


def test_servers_pass_their_own_checks() -> None:
    done = run("check", timeout=900)
    assert done.returncode == 0, done.stderr
    for name in ("eventmachine", "express", "play"):
        assert f"ok      {name}: " in done.stdout


def test_a_change_to_a_server_ends_its_verdict() -> None:
    target = find_target("tornado")
    added = target.server.folder / "added-by-a-test.txt"
    before = has_passed(target)
    try:
        added.write_text("")
        assert not has_passed(target)
    finally:
        added.unlink()
    assert has_passed(target) == before


def test_a_server_at_an_address(tmp_path: Path) -> None:
    port = free_port()
    with started(
        "serve", "aiohttp", log=tmp_path / "log", until="Ctrl-C stops it", env={"PORT": str(port)}
    ):
        done = run("conform", f"http://127.0.0.1:{port}", "-k", "text or mongo")
        assert done.returncode == 0
        assert "need a server that is started here" in done.stdout
        json_done = run("conform", f"http://127.0.0.1:{port}", "-k", "text", "--json")
        assert json.loads(json_done.stdout)[0]["passed"]


def test_a_server_that_is_wrong_is_told_with_a_line_that_repeats_it(tmp_path: Path) -> None:
    port = free_port()
    served = ThreadingHTTPServer(("127.0.0.1", port), BaseHTTPRequestHandler)
    thread = threading.Thread(target=served.serve_forever)
    thread.start()
    try:
        done = run("conform", f"http://127.0.0.1:{port}", "-k", "test_json")
    finally:
        served.shutdown()
        thread.join()
        served.server_close()
    assert done.returncode == 1
    assert "expected  200" in done.stdout
    assert "got       501" in done.stdout
    assert f"curl -i --path-as-is http://127.0.0.1:{port}/json" in done.stdout


def test_the_readme_lists_every_deployment() -> None:
    readme = (ROOT / "README.md").read_text()
    for server in find_servers().values():
        row = next(
            (line for line in readme.splitlines() if line.startswith(f"| [{server.name}](")), None
        )
        assert row is not None, f"{server.name} is not in the table"
        for deployment in server.manifest.deployment:
            assert f"`{deployment.name}`" in row
