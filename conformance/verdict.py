"""Verdicts: the suite's results for a deployment, with a hash of all that they depend on."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from conformance import records
from harness.paths import ROOT, RUN
from harness.servers.catalog import Server, Target, servers_of
from harness.servers.source import source_files
from harness.system.files import write_whole
from spec.behaviours import questions

# Files that describe a server and do not change what it does
_BESIDE = {records.NAME, "README.md"}

_SUITE = ("spec", "harness", "conformance", "requirements")
# What no check and no question uses
_NOT_THE_SUITE = (
    *("conformance/matrix", "conformance/pages.py"),
    *("harness/copies", "harness/doctor.py", "harness/listing.py"),
    "requirements/actionlint.txt",
)


@dataclass(frozen=True)
class Check:
    """One check's outcome."""

    part: str
    name: str
    outcome: str  # ``passed``, ``failed`` or ``skipped`` (not applicable to this server)
    seconds: float = 0.0
    message: str = ""  # the expected and the actual value
    repeat: str = ""  # a command that repeats the request
    request: str = ""  # the target of the request that failed
    status: int = 0  # the status of its response, if there was one that differs
    what: str = ""  # the part of the response that differs, such as ``body``
    # What the server logged at the end of the check, if that may be the cause
    log: str = ""


@dataclass
class Verdict:
    """The suite's results for one deployment."""

    target: str
    called: str = ""  # what tasks take to find it: a name, a folder or an address
    state: str = ""  # the target's of :func:`states_of` once it is built; empty for an address
    checks: list[Check] = field(default_factory=list)
    # The answer to each question that was asked
    behaviours: dict[str, str] = field(default_factory=dict)
    # Questions without an answer, and why
    unanswered: dict[str, str] = field(default_factory=dict)
    # Answers that differ from the record
    changes: list[records.Change] = field(default_factory=list)
    # Versions that differ from the record, if answers changed
    upgrades: list[str] = field(default_factory=list)
    # Whether its answers must be those recorded: it is this repository's, or has a record
    compared: bool = True
    unrecorded: bool = False  # whether there is no record to compare with
    # Checks that were not run, counted by part
    left_out: dict[str, int] = field(default_factory=dict)
    fingerprint: str | None = None
    error: str = ""  # why the suite did not complete
    # Whether that is because the server could not be built or started
    unstarted: bool = False
    finished: str = ""  # when, in UTC (ISO 8601)

    @property
    def failures(self) -> list[Check]:
        return [check for check in self.checks if check.outcome == "failed"]

    @property
    def passed(self) -> bool:
        """Whether the suite completed, every check passed, and it behaves as recorded."""
        wrong = self.error or self.failures or not (self.checks and self.finished)
        unsure = self.compared and (self.unanswered or self.unrecorded)
        return not (wrong or unsure or self.changes)

    @property
    def doubtful(self) -> list[str]:
        """The questions to ask again, because something else may have disturbed them.

        Their answers differ from the record, or are missing in spite of a server that is right.
        """
        changed = [one.question for one in self.changes if one.question in questions()]
        return [*changed, *(self.unanswered if not self.failures else ())]

    def finish(self) -> None:
        """Record that the suite completed."""
        self.finished = datetime.now(UTC).isoformat(timespec="seconds")

    def compare(self, target: Target) -> None:
        """Note differences from the record, or that there is none."""
        record = records.find(target)
        self.unrecorded = record is None
        found = records.changes(record, self.behaviours) if record else []
        self.changes = [one for one in found if one.question not in self.unanswered]
        self.upgrades = records.upgrades(record, target) if record and self.changes else []

    def as_dict(self) -> dict[str, object]:
        return {"passed": self.passed} | asdict(self)


def states_of(targets: Sequence[Target]) -> dict[str, str]:
    """For each target, by name, a hash of everything that its verdict depends on.

    This is the server, the versions that it runs on, and the code of contract, harness and suite.
    """
    ours = source_files(ROOT)
    suite = _hashes(ROOT, filter(is_of_the_suite, ours))
    servers = {
        server.folder: [records.seen_on(server), _hashes(server.folder, _own_files(server, ours))]
        for server in servers_of(targets)
    }
    return {
        target.name: _hash(json.dumps([target.name, servers[target.server.folder], suite]).encode())
        for target in targets
    }


def _hashes(folder: Path, files: Iterable[Path]) -> list[tuple[str, str]]:
    """The path of each file in a folder, and a hash of its content."""
    return [(str(path.relative_to(folder)), _hash(path.read_bytes())) for path in files]


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _own_files(server: Server, ours: list[Path]) -> list[Path]:
    """Those that decide a verdict; a server elsewhere has none among this repository's files."""
    found = [path for path in ours if path.is_relative_to(server.folder)]
    return [path for path in found or source_files(server.folder) if path.name not in _BESIDE]


def is_of_the_suite(path: Path) -> bool:
    """Whether it is a file of contract, harness or suite that a verdict depends on."""
    own = path.relative_to(ROOT)
    return own.parts[0] in _SUITE and not any(map(own.is_relative_to, _NOT_THE_SUITE))


def keep(target: Target, verdict: Verdict) -> None:
    """Write a verdict to its file."""
    write_whole(_path(target), json.dumps(verdict.as_dict(), indent=2, ensure_ascii=False))


def passed_as(target: Target, state: str) -> str | None:
    """The fingerprint of the target if it has passed in this state, else None."""
    try:
        kept = json.loads(_path(target).read_text())
        valid = kept["passed"] and kept["state"] == state
        return str(kept["fingerprint"]) if valid else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _path(target: Target) -> Path:
    return RUN / "verdicts" / f"{target.name.replace('/', '--')}.json"
