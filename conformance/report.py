"""Shows verdicts: a table with the failures, or JSON."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.causes import causes, lacking, part_asked
from conformance.verdict import Check, Verdict
from harness.errors import listed
from spec.behaviours import Answer, Question, questions

# Of answers, the worst first
STYLES = {"risky": "bold red", "slow": "yellow", "plain": "", "good": "green"}


def worst_first(answers: Mapping[str, str]) -> list[tuple[Question, str, Answer]]:
    """Questions with their answers: the worst first, and then in the document's order."""
    found = [
        (one, answers[id], one.answers[answers[id]])
        for id, one in questions().items()
        if id in answers
    ]
    return sorted(found, key=lambda one: list(STYLES).index(one[2].rating))


def answers_table(answers: Mapping[str, str]) -> Table:
    """Answers by question, the worst first; risky ones have a reason and its source."""
    table = Table(box=None, pad_edge=False)
    for column in ("rating", "question", "answer"):
        table.add_column(column, no_wrap=True)
    table.add_column("why it is risky")
    for question, answer, rated in worst_first(answers):
        why = f"{rated.why} ({question.source})" if rated.rating == "risky" else ""
        rating = Text(rated.rating, STYLES[rated.rating])
        table.add_row(rating, question.id, Text(answer), Text(why))
    return table


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
    for verdict in verdicts:
        if verdict.behaviours and not verdict.compared:
            heading = f"\n{verdict.target} behaves like this (in the parts that it serves):"
            console.print(Text(heading, style="bold"), soft_wrap=True)
            console.print(answers_table(verdict.behaviours))
    failed = ", ".join(_failed(verdict) for verdict in verdicts if not verdict.passed)
    passed = f"\n{sum(map(_passed, verdicts))} checks passed"
    texts = [
        *(line for verdict in verdicts for line in _changes(verdict)),
        *_unrecorded(verdicts),
        *(line for verdict in verdicts for line in _failures(verdict)),
        *_start(verdicts),
        (f"\nfailed: {failed}", "red") if failed else (passed, "green"),
    ]
    for text, style in texts:
        console.print(Text(text, style=style), soft_wrap=True)


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
    missing = lacking(verdict.failures)
    if missing:
        paths = ", ".join(missing.values())
        yield f"\n{verdict.target} lacks {paths}: answered with 404", "red"
    for cause in causes(
        [one for one in verdict.failures if part_asked(one.request) not in missing]
    ):
        for at, check in enumerate(cause.shown):
            yield from _check(verdict, replace(check, log=check.log if at == 0 else ""))
        if cause.others:
            others = ", ".join(f"{part} ({many})" for part, many in cause.others.items())
            yield f"also failed, probably for the same reason: {others}", ""
    if verdict.left_out:
        count = sum(verdict.left_out.values())
        parts = ", ".join(f"{part} ({number})" for part, number in verdict.left_out.items())
        yield f"\n{verdict.target}: {count} checks need a server that is started here: {parts}", ""


def _check(verdict: Verdict, check: Check) -> Iterator[tuple[str, str]]:
    yield f"\n{verdict.target} · {check.part} · {check.name}", "bold red"
    yield check.message, ""
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


def _unrecorded(verdicts: Sequence[Verdict]) -> Iterator[tuple[str, str]]:
    if found := [verdict for verdict in verdicts if verdict.unrecorded]:
        targets = ", ".join(one.target for one in found)
        command = f"./just conform {' '.join(one.called for one in found)} --record"
        style = "red" if any(one.compared for one in found) else ""
        yield f"\nno recorded behaviours: {targets}: `{command}` records them", style
