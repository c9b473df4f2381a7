"""Shows verdicts: a table with the failures, or JSON."""

import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.causes import Cause, causes, lacking, part_asked
from conformance.verdict import Check, Verdict
from harness.errors import listed
from spec.behaviours import questions

# Of answers, the worst first
STYLES = {"risky": "bold red", "slow": "yellow", "plain": "", "good": "green"}


def show(verdicts: Sequence[Verdict], console: Console) -> None:
    """Print the table, behaviours, failed checks with their curl lines and an outcome.

    The behaviours shown are those that changed, or of servers without a record. What failed comes
    last, as the last lines are those that are read.
    """
    table = Table(box=None, pad_edge=False)
    for column in ("server", "required", "behaviours", "fingerprint"):
        table.add_column(column, no_wrap=column != "required")
    for verdict in verdicts:
        table.add_row(
            Text(verdict.target, style="green" if verdict.passed else "red"),
            _required(verdict),
            _behaviours(verdict),
            (verdict.fingerprint or "-")[:8],
        )
    console.print(table)
    texts = [
        *(line for verdict in verdicts for line in (*_foreign(verdict), *_changes(verdict))),
        *_fingerprints(verdicts),
        *_unrecorded(verdicts),
        *(line for verdict in verdicts for line in _failures(verdict)),
        *_start(verdicts),
        *_outcome(verdicts),
    ]
    for text, style in texts:
        console.print(Text(text, style=style), soft_wrap=True)


def _outcome(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, str]]:
    if failed := [verdict for verdict in verdicts if not verdict.passed]:
        yield "\nfailed: " + ", ".join(map(_failed, failed)), "red"
    else:
        yield f"\n{sum(map(_passed, verdicts))} checks passed", "green"


def _failed(verdict: Verdict) -> str:
    many = len(verdict.failures)
    counts = f" ({many} of {many + _passed(verdict)} checks)" if many else ""
    return verdict.target + counts


def _passed(verdict: Verdict) -> int:
    return sum(check.outcome == "passed" for check in verdict.checks)


def _required(verdict: Verdict) -> Text:
    passed, failed = _passed(verdict), len(verdict.failures)
    if not failed:
        return Text(f"{passed} passed" if passed else "-", style="green")
    parts = ", ".join(dict.fromkeys(check.part for check in verdict.failures))
    return Text(f"{failed} of {failed + passed} failed: {parts}", style="bold red")


def _behaviours(verdict: Verdict) -> Text:
    if not verdict.behaviours:
        return Text("-")
    ratings = [questions()[id].answers[one].rating for id, one in verdict.behaviours.items()]
    text = f"{len(ratings)}, {ratings.count('risky')} risky"
    if verdict.changes:
        return Text(f"{text}, {len(verdict.changes)} changed", style="bold red")
    return Text(text)


def _failures(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """The failed checks, the plainest first, and those with the same cause only by number."""
    if verdict.error:
        yield f"\n{verdict.target}: {verdict.error}", "bold red"
    yield from _lacking(verdict)
    for cause in _causes(verdict):
        for at, check in enumerate(cause.shown):
            yield from _check(verdict, replace(check, log=check.log if at == 0 else ""))
        if cause.others:
            others = ", ".join(f"{part} ({many})" for part, many in cause.others.items())
            yield f"also failed, probably for the same reason: {others}", ""
    if verdict.left_out:
        count = sum(verdict.left_out.values())
        parts = ", ".join(f"{part} ({number})" for part, number in verdict.left_out.items())
        yield f"\n{verdict.target}: {count} checks need a server that is started here: {parts}", ""


def _lacking(verdict: Verdict) -> Iterator[tuple[str, str]]:
    if paths := lacking(verdict.failures).values():
        yield f"\n{verdict.target} lacks {', '.join(paths)}: answered with 404", "red"


def _causes(verdict: Verdict) -> list[Cause]:
    """The causes of the failures of endpoints that the server has."""
    missing = lacking(verdict.failures)
    return causes([one for one in verdict.failures if part_asked(one.request) not in missing])


def _check(verdict: Verdict, check: Check) -> Iterator[tuple[str, str]]:
    yield f"\n{verdict.target} · {check.part} · {check.name}", "bold red"
    yield check.message or check.where, ""
    if check.repeat:
        yield f"repeat    {check.repeat}", ""
    if check.log:
        yield f"the server's log of it:\n{textwrap.indent(check.log, '  ')}", "dim"


def _start(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, str]]:
    """How to make the curl lines work."""
    repeated = [one.called for one in verdicts if any(check.repeat for check in one.failures)]
    if names := [name for name in repeated if "://" not in name]:
        serve = " or ".join(f"`./just serve {name}`" for name in names)
        yield f"\nto repeat a request, start the server with {serve}", ""


def _changes(verdict: Verdict) -> Iterator[tuple[str, str]]:
    for change in verdict.changes:
        question = questions().get(change.question)
        yield f"\n{verdict.target} · behaviour · {change.question}", "bold red"
        yield question.text if question else "this question no longer exists", ""
        yield f"recorded  {change.recorded or 'nothing'}\nseen      {change.seen or 'nothing'}", ""
    if verdict.changes:
        upgrades = ", ".join(verdict.upgrades) or "none"
        yield f"\n{verdict.target}: versions that changed: {upgrades}", ""
        yield f"to accept these answers: ./just conform {verdict.called} --record", ""
    if verdict.failures and verdict.unanswered:
        ids = listed(list(verdict.unanswered))
        yield f"\n{verdict.target}: questions without an answer, as checks failed: {ids}", ""
        return
    for id, error in verdict.unanswered.items():
        yield f"\n{verdict.target} · behaviour · {id}: no answer: {error}", "bold red"


def _foreign(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """The observed behaviours of a server that is not ours, risky ones first."""
    if verdict.compared or not verdict.behaviours:
        return
    yield f"\n{verdict.target} behaves like this (in the parts that it serves):", "bold"
    for rating in STYLES:
        for id, answer in verdict.behaviours.items():
            listed = questions()[id].answers[answer]
            if listed.rating == rating:
                why = f": {listed.why}" if rating == "risky" else ""
                yield f"  {rating:5}  {id}: {answer}{why}", STYLES[rating]


def _fingerprints(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, str]]:
    found = Counter(verdict.fingerprint for verdict in verdicts if verdict.fingerprint)
    for fingerprint, count in found.items():
        yield f"\nfingerprint {fingerprint} ({count} of {len(verdicts)})", ""


def _unrecorded(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, str]]:
    if found := [verdict for verdict in verdicts if verdict.unrecorded]:
        targets = ", ".join(one.target for one in found)
        command = f"./just conform {' '.join(one.called for one in found)} --record"
        style = "red" if any(one.compared for one in found) else ""
        yield f"\nno recorded behaviours: {targets}: `{command}` records them", style


def as_json(verdicts: Sequence[Verdict]) -> str:
    """Everything, for machines."""
    return json.dumps([one.as_dict() for one in verdicts], indent=2, ensure_ascii=False)
