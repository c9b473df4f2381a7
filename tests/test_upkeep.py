"""Dependencies: what is newer, and what an upgrade changes."""

import json
import os
import signal
from pathlib import Path

import pytest

from conformance import records
from conformance.prove import Proof
from conformance.verdict import Check, Verdict
from harness.catalog import Server, find_servers
from harness.errors import TaskError
from harness.manifest import load_manifest
from spec.behaviours import questions
from upkeep import upgrade as upgrading
from upkeep.copies import Copy, replace_all
from upkeep.ecosystems import Ecosystem, ecosystem_of, python, ruby, scala
from upkeep.timing import PAIRS, compare
from upkeep.upgrade import moved, upgrade

pytestmark = pytest.mark.quick


def test_every_server_with_dependencies_has_a_package_manager() -> None:
    for server in find_servers().values():
        ecosystem = ecosystem_of(server.folder)
        assert (ecosystem is not None) == (server.manifest.language != "nginx"), server.name
        if ecosystem and server.manifest.language != "ruby":
            assert len(ecosystem.locked()) > 3


def test_requirements_are_read() -> None:
    text = "# a comment\n-r other.in\nDjango~=5.2.0\npsycopg[binary,pool]\nflask_orjson>=1 # why\n"
    assert python.requirements(text) == ["django", "psycopg", "flask-orjson"]
    assert python.without_constraints(text) == (
        "# a comment\n-r other.in\nDjango\npsycopg[binary,pool]\nflask_orjson# why\n"
    )
    lock = "numpy==2.2.6 ; python_full_version < '3.11' \\\n    --hash=x\nNumPy==2.3.1 \\\n"
    assert python.pins(lock) == {"numpy": "2.2.6, 2.3.1"}


@pytest.mark.parametrize(
    ("have", "known", "newest"),
    [
        ("1.2.3", ["1.2.3", "1.10.0", "2.0.0-RC1", "2.0.0-M2", "1.9.9"], "1.10.0"),
        ("32.1.3-jre", ["33.0.0-jre", "33.1.0-android"], "33.0.0-jre"),
        ("1.1.0-play30.RC12", ["1.1.0-play30.RC13", "1.1.0-play31.RC14"], "1.1.0-play30.RC13"),
        ("1.1.0-play30.RC13", ["1.1.0-play30", "1.1.0-play30.RC13"], "1.1.0-play30"),
        ("3.0.11", [], "3.0.11"),
    ],
)
def test_the_newest_artifact_is_of_the_same_kind(have: str, known: list[str], newest: str) -> None:
    assert scala.newest(have, known) == newest


def test_the_report_of_bundler_is_read() -> None:
    report = (
        "\nrack (newest 3.2.1, installed 2.2.8, requested ~> 2.2)\npg (newest 1.6, installed 1.4)\n"
    )
    assert ruby.newer(report) == {"rack": "3.2.1", "pg": "1.6"}


def test_moved_packages_direct_ones_first() -> None:
    before = {"a": "1", "org:web_2.13": "1", "gone": "1", "same": "1"}
    after = {"a": "2", "org:web_2.13": "2", "new": "1", "same": "1"}
    found = [(one.name, one.before, one.after) for one in moved(before, after, ["org:web"])]
    assert found == [
        ("org:web_2.13", "1", "2"),
        ("a", "1", "2"),
        ("gone", "1", None),
        ("new", None, "1"),
    ]


def test_ratios_of_pairs() -> None:
    few = compare("/index", [100, 200, 100], [90, 190, 80])
    assert (few.ratio, few.low, few.high) == (0.9, 0.8, 0.95)
    assert few.verdict == "too few pairs to tell"
    assert compare("/index", [100] * PAIRS, [90] * PAIRS, 3).verdict == "less"
    assert not compare("/index", [1] * (PAIRS - 1), [2] * (PAIRS - 1), 3).is_interval
    mixed = compare("/index", [1, 2] * 4, [2, 1] * 4)
    assert mixed.verdict == "no difference shown"
    wild = compare("/index", [1.0] * 15, [9.0, 0.1, *([1.1] * 13)], 3)
    assert (wild.low, wild.high, wild.verdict) == (1.1, 1.1, "more")


def test_files_are_replaced_together_even_when_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {tmp_path / name: b"new" for name in "abc"}
    for path in files:
        path.write_text("old")
    replace = Path.replace

    def interrupted(self: Path, target: Path) -> Path:
        os.kill(os.getpid(), signal.SIGINT)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_all(files)
    assert [path.read_text() for path in files] == ["new"] * 3
    assert sorted(tmp_path.iterdir()) == sorted(files)


class Fake(Ecosystem):
    """A package manager whose lock is one file with one version."""

    file = "lock"
    source = "nothing"

    def dependencies(self) -> list[object]:  # type: ignore[override]
        return []

    def locked(self) -> dict[str, str]:
        return {"web": (self.folder / "lock").read_text()}

    def relock(self, *, latest: bool) -> None:
        (self.folder / "lock").write_text("2")


class Suite(Proof):
    """A suite that finds what a test says."""

    outcome = "passed"
    answers: dict[str, str]

    def run(self, subjects: object, jobs: int = 2) -> list[Verdict]:
        verdict = Verdict("fake/fake", checks=[Check("text", "one", self.outcome)])
        verdict.behaviours = self.answers
        verdict.changes = records.changes(records.Record({"head": "200"}, {}), self.answers)
        verdict.finish()
        return [verdict]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server with one dependency, which has a newer version."""
    folder = tmp_path / "fake"
    folder.mkdir()
    (folder / "lock").write_text("1")
    (folder / "server.toml").write_text(
        'title = "Fake"\nlanguage = "any"\nframework = "web"\nhomepage = "https://example.org"\n'
        '[[deployment]]\nname = "fake"\nmodel = "event loop"\nrun = ["true"]\n'
    )
    question = next(iter(questions()))
    record = {"fake": {"answers": {question: "old"}, "seen_on": {}}}
    (folder / "behaviours.json").write_text(json.dumps(record))
    monkeypatch.setattr(upgrading, "ecosystem_of", Fake)
    monkeypatch.setattr(upgrading, "Proof", Suite)
    monkeypatch.setattr(upgrading, "_keep", lambda *_: None)
    Suite.answers, Suite.outcome = {question: next(iter(questions()[question].answers))}, "passed"
    return Server("fake", folder, load_manifest(folder / "server.toml"))


def test_an_upgrade_shows_changes_and_writes_the_lock_with_the_record(fake: Server) -> None:
    found = upgrade(fake, [], latest=False, pairs=0)
    assert found.proved
    assert [(one.name, one.before, one.after) for one in found.packages] == [("web", "1", "2")]
    (change,) = (one for one in found.behaviours if one.question in Suite.answers)
    assert change.after == Suite.answers[change.question]
    assert found.written == ["behaviours.json", "lock"]
    assert (fake.folder / "lock").read_text() == "2"
    assert records.read(fake)["fake"].answers == Suite.answers
    json.dumps(found.as_dict())


def test_a_broken_contract_writes_nothing(fake: Server) -> None:
    Suite.outcome = "failed"
    before = {path: path.read_bytes() for path in fake.folder.iterdir()}
    found = upgrade(fake, [], latest=False, pairs=0)
    assert not found.proved
    assert not found.written
    assert [one.check for one in found.failures] == ["text · one"]
    assert {path: path.read_bytes() for path in fake.folder.iterdir()} == before


def test_an_edit_in_the_meantime_is_not_overwritten(fake: Server, tmp_path: Path) -> None:
    copy = Copy(fake, tmp_path / "copy")
    (copy.server.folder / "lock").write_text("2")
    (fake.folder / "lock").write_text("edited")
    with pytest.raises(TaskError, match=r"lock in .* changed in the meantime: nothing was"):
        copy.put_back()
    assert (fake.folder / "lock").read_text() == "edited"


def test_copies_have_what_a_build_needs(tmp_path: Path) -> None:
    express = find_servers()["express"]
    copy = Copy(express, tmp_path)
    for name in (".npmrc", "package.json", "package-lock.json", "src/app.js", "server.toml"):
        assert (copy.server.folder / name).read_bytes() == (express.folder / name).read_bytes()
    assert not (copy.server.folder / "node_modules").exists()
    assert copy.changed() == {}
