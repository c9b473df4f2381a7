"""``just upgrade NAME``: newer dependencies, proved before anything is written."""

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field

from bench.disturbed import Disturbed
from conformance import records
from conformance.prove import Proof
from conformance.verdict import Verdict, keep, state_of
from harness.build import build
from harness.catalog import Server, Target
from harness.console import progress_bar, say
from harness.errors import UsageError
from harness.scratch import scratch
from harness.services import Services, backing_services
from harness.toolchains import require
from harness.versions import dependencies
from spec.behaviours import Answer, questions
from upkeep.copies import Copy
from upkeep.ecosystems import ecosystem_of
from upkeep.timing import Comparison, measure_pairs


@dataclass(frozen=True)
class Moved:
    """A package whose locked version changed."""

    name: str
    before: str | None
    after: str | None
    direct: bool


@dataclass(frozen=True)
class Changed:
    """An answer that changed."""

    target: str
    question: str
    text: str
    before: str | None
    before_rating: str | None
    after: str | None
    after_rating: str | None
    why: str
    """Why the new answer is rated so."""


@dataclass(frozen=True)
class Failed:
    """A check that failed."""

    target: str
    check: str
    message: str


@dataclass
class Upgrade:
    """What an upgrade changes."""

    server: str
    packages: list[Moved] = field(default_factory=list)
    proved: bool = False
    checks: dict[str, int] = field(default_factory=dict)
    """Checks that passed, by deployment."""
    failures: list[Failed] = field(default_factory=list)
    answers: int = 0
    """Answers that were compared, over all deployments."""
    behaviours: list[Changed] = field(default_factory=list)
    figures: list[Comparison] = field(default_factory=list)
    unmeasured: str = ""
    """Why there are no figures."""
    written: list[str] = field(default_factory=list)
    """The files that were written."""

    def as_dict(self) -> dict[str, object]:
        """The upgrade as a JSON object."""
        figures = [asdict(one) | {"verdict": one.verdict} for one in self.figures]
        return asdict(self) | {"figures": figures}


def upgrade(server: Server, verdicts: list[Verdict], *, latest: bool, pairs: int) -> Upgrade:
    """Lock newer versions in a copy, prove it, measure, and take the new lock over.

    ``verdicts`` receives the proof; the server itself stays as it is unless all of them conform.
    """
    found = Upgrade(server.name)
    require(server.manifest.needs)
    with scratch("upgrade") as folder:
        old, new = Copy(server, folder / "old"), Copy(server, folder / "new")
        found.packages = _relock(new.server, latest=latest)
        if not new.changed():
            return found
        targets = [Target(new.server, one) for one in server.manifest.deployment]
        with backing_services() as backing:
            verdicts += Proof(trial=True).run(targets)
            _take(found, verdicts, recorded=(server.folder / records.NAME).is_file())
            if not found.proved:
                return found
            if pairs and found.packages:
                _measure(
                    found, Target(old.server, targets[0].deployment), targets[0], backing, pairs
                )
        if (new.server.folder / records.NAME).is_file():
            for target, verdict in zip(targets, verdicts, strict=True):
                records.write(target, verdict.behaviours)
        found.written = new.put_back()
    _keep(server, verdicts)
    return found


def _relock(server: Server, *, latest: bool) -> list[Moved]:
    """Lock newer versions in the server's folder; return the packages that moved."""
    ecosystem = ecosystem_of(server.folder)
    if ecosystem is None:
        raise UsageError(f"{server.name} has no lock: it runs on programs of the machine")
    say(f"locking {server.name} with newer versions")
    before = ecosystem.locked()
    ecosystem.relock(latest=latest)
    return moved(before, ecosystem.locked(), dependencies(server))


def moved(
    before: Mapping[str, str], after: Mapping[str, str], direct: Collection[str]
) -> list[Moved]:
    """The packages whose version differs, direct dependencies first."""
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    plain = {name: re.sub(r"_(2\.\d+|3)$", "", name) for name in names}  # Scala's own version
    found = [Moved(one, before.get(one), after.get(one), plain[one] in direct) for one in names]
    return sorted(found, key=lambda one: not one.direct)


def _take(found: Upgrade, verdicts: list[Verdict], *, recorded: bool) -> None:
    """Take the results of the proof; without a record, there is nothing to compare with."""
    found.proved = all(verdict.conforms for verdict in verdicts)
    for verdict in verdicts:
        found.checks[verdict.target] = sum(one.outcome == "passed" for one in verdict.checks)
        found.failures += [
            Failed(verdict.target, f"{one.part} · {one.name}", one.message)
            for one in verdict.failures
        ]
        found.answers += len(verdict.behaviours)
        if recorded:
            found.behaviours += [_changed(verdict.target, one) for one in verdict.changes]


def _changed(target: str, change: records.Change) -> Changed:
    question = questions().get(change.question)
    answers: Mapping[str, Answer] = question.answers if question else {}
    before, after = answers.get(change.recorded or ""), answers.get(change.seen or "")
    return Changed(
        target=target,
        question=change.question,
        text=question.text if question else "this question no longer exists",
        before=change.recorded,
        before_rating=before.rating if before else None,
        after=change.seen,
        after_rating=after.rating if after else None,
        why=after.why if after else "",
    )


def _measure(found: Upgrade, old: Target, new: Target, backing: Services, pairs: int) -> None:
    """Compare both builds; a failure that is not the server's leaves the figures out."""
    with progress_bar() as bar:
        task = bar.add_task("measuring", total=None, note="")
        try:
            for target in (old, new):
                build(target.server)
            found.figures = measure_pairs(
                old, new, backing, pairs, lambda note: bar.update(task, note=note)
            )
        except Disturbed as error:
            found.unmeasured = str(error)


def _keep(server: Server, verdicts: list[Verdict]) -> None:
    """Build the server as it is now, and keep its verdicts: its files are those of the proof."""
    build(server)
    for deployment, verdict in zip(server.manifest.deployment, verdicts, strict=True):
        target = Target(server, deployment)
        verdict.changes, verdict.upgrades, verdict.state = [], [], state_of(target)
        keep(target, verdict)
