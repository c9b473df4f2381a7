"""Verdicts: what passed, told by a hash of all that it depends on."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from harness.catalog import Target
from harness.new import source_files
from harness.paths import ROOT, RUN

_SUITE = ("spec", "harness", "conformance", "requirements")


@dataclass(frozen=True)
class Check:
    """One check's outcome."""

    part: str
    name: str
    outcome: str
    """``passed`` or ``failed``."""
    seconds: float = 0.0
    message: str = ""
    """What was expected and what came."""
    repeat: str = ""
    """A command that repeats the request."""
    where: str = ""


@dataclass
class Verdict:
    """What the suite found of one server in one deployment."""

    target: str
    state: str
    """:func:`state_of` the target, or nothing for a server that is not ours."""
    checks: list[Check] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    """Checks that were not run, counted by part."""
    fingerprint: str | None = None
    error: str = ""
    """Why the suite did not come to its end."""
    finished: str = ""
    """When, in UTC (ISO 8601)."""

    @property
    def failures(self) -> list[Check]:
        """The checks that failed."""
        return [check for check in self.checks if check.outcome != "passed"]

    @property
    def passed(self) -> bool:
        """Whether all that was run passed, to the end."""
        return not self.error and not self.failures and bool(self.checks)

    def as_dict(self) -> dict[str, object]:
        """The verdict as JSON has it."""
        return {"passed": self.passed} | asdict(self)


def state_of(target: Target) -> str:
    """The hash of everything that a verdict depends on: server, contract, harness and suite."""
    digest = hashlib.sha256(target.name.encode())
    for folder in (target.server.folder, *(ROOT / name for name in _SUITE)):
        for path in source_files(folder):
            digest.update(f"\0{path.relative_to(folder)}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def record(target: Target, verdict: Verdict) -> None:
    """Keep a verdict, whole or not at all."""
    path = _path(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    verdict.finished = datetime.now(UTC).isoformat(timespec="seconds")
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(verdict.as_dict(), indent=2, ensure_ascii=False))
    draft.replace(path)


def has_passed(target: Target) -> bool:
    """Whether exactly what is there now has passed."""
    return passed_as(target) is not None


def passed_as(target: Target) -> str | None:
    """The fingerprint with which exactly what is there now has passed; None if it has not."""
    path = _path(target)
    if not path.exists():
        return None
    told = json.loads(path.read_text())
    return told["fingerprint"] if told["passed"] and told["state"] == state_of(target) else None


def _path(target: Target) -> Path:
    return RUN / "verdicts" / f"{target.name.replace('/', '--')}.json"
