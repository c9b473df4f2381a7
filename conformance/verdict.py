"""Verdicts: the suite's results for a deployment, with a hash of all that they depend on."""

import ast
import hashlib
import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from conformance import records
from harness.catalog import Target
from harness.paths import ROOT, RUN
from harness.sources import source_files
from harness.writing import write_whole

_BESIDE = {records.NAME, "README.md"}
"""Files that describe a server and do not change what it does."""

_SUITE = ("spec", "harness", "conformance", "requirements")


@dataclass(frozen=True)
class Check:
    """One check's outcome."""

    part: str
    name: str
    outcome: str
    """``passed``, ``failed`` or ``skipped`` (not applicable to this server)."""
    seconds: float = 0.0
    message: str = ""
    """The expected and the actual value."""
    repeat: str = ""
    """A command that repeats the request."""
    where: str = ""
    log: str = ""
    """The last lines of the server's log before the check failed."""


@dataclass
class Verdict:
    """The suite's results for one deployment."""

    target: str
    state: str = ""
    """:func:`state_of` the target once it is built; empty for an address."""
    checks: list[Check] = field(default_factory=list)
    behaviours: dict[str, str] = field(default_factory=dict)
    """The answer to each question that was asked."""
    unanswered: dict[str, str] = field(default_factory=dict)
    """Questions without an answer, and why."""
    changes: list[records.Change] = field(default_factory=list)
    """Answers that differ from the record."""
    upgrades: list[str] = field(default_factory=list)
    """Versions that differ from the record, if answers changed."""
    ours: bool = True
    """Whether it is one of this repository's servers, whose answers must be recorded."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Checks that were not run, counted by part."""
    fingerprint: str | None = None
    error: str = ""
    """Why the suite did not complete."""
    unstarted: bool = False
    """Whether that is because the server could not be built or started."""
    finished: str = ""
    """When, in UTC (ISO 8601)."""

    @property
    def failures(self) -> list[Check]:
        """The checks that failed."""
        return [check for check in self.checks if check.outcome == "failed"]

    @property
    def conforms(self) -> bool:
        """Whether the suite completed and every check passed, whatever the behaviours."""
        wrong = self.error or self.failures or (self.ours and self.unanswered)
        return bool(self.checks and self.finished) and not wrong

    @property
    def passed(self) -> bool:
        """Whether it conforms, and behaves as recorded."""
        return self.conforms and not self.changes

    def finish(self) -> None:
        """Record that the suite completed."""
        self.finished = datetime.now(UTC).isoformat(timespec="seconds")

    def compare(self, target: Target) -> None:
        """Note differences from the record of one of ours; without a record, everything differs."""
        if not self.ours:
            return
        recorded = records.read(target.server)
        record = recorded.get(target.deployment.name, records.Record({}, {}))
        found = records.changes(record, self.behaviours)
        self.changes = [one for one in found if one.question not in self.unanswered]
        self.upgrades = records.upgrades(record, target) if self.changes else []

    def as_dict(self) -> dict[str, object]:
        """The verdict as a JSON object."""
        return {"passed": self.passed} | asdict(self)


def state_of(target: Target) -> str:
    """A hash of everything that a verdict depends on.

    This is the server, the versions that it runs on, and the code of contract, harness and suite.
    """
    digest = hashlib.sha256(json.dumps([target.name, records.seen_on(target)]).encode())
    for folder in (target.server.folder, *(ROOT / name for name in _SUITE)):
        for path in source_files(folder):
            if path.name in _BESIDE:
                continue
            digest.update(f"\0{path.relative_to(folder)}\0".encode())
            content = _code(path) if folder != target.server.folder else path.read_bytes()
            digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()


@cache
def _code(path: Path) -> bytes:
    """A file's content; Python without comments and docstrings."""
    if path.suffix != ".py":
        return path.read_bytes()
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [one for one in body if not _is_docstring(one)]  # type: ignore[attr-defined]
    return ast.dump(tree).encode()


def _is_docstring(node: ast.AST) -> bool:
    """Whether it is a string statement: a docstring, or the text below an attribute."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def keep(target: Target, verdict: Verdict) -> None:
    """Write a verdict to its file."""
    write_whole(_path(target), json.dumps(verdict.as_dict(), indent=2, ensure_ascii=False))


def has_passed(target: Target) -> bool:
    """Whether the current state of the target has passed."""
    return passed_as(target) is not None


def passed_as(target: Target) -> str | None:
    """The fingerprint of the target if its current state has passed, else None."""
    path = _path(target)
    if not path.exists():
        return None
    try:
        kept = json.loads(path.read_text())
        valid = kept["passed"] and kept["state"] == state_of(target)
        return str(kept["fingerprint"]) if valid else None
    except (ValueError, KeyError, TypeError):
        return None


def _path(target: Target) -> Path:
    return RUN / "verdicts" / f"{target.name.replace('/', '--')}.json"
