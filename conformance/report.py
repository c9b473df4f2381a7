"""Shows verdicts: a table with the failures, JSON, JUnit XML."""

import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.subject import EXAMPLES
from conformance.verdict import Verdict
from harness.writing import write_whole
from spec.behaviours import questions

_MOST = 20
"""The most failures that are shown in full for one server."""

_RATINGS = ("risky", "plain", "good")
_STYLES = {"risky": "bold red", "plain": "", "good": "green"}


def show(verdicts: Sequence[Verdict], console: Console) -> None:
    """Print the table, each failure with its curl line, and the behaviours of foreign servers."""
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
        for text, style in (*_failures(verdict), *_changes(verdict), *_foreign(verdict)):
            console.print(Text(text, style=style), soft_wrap=True)
    _show_fingerprints(verdicts, console)
    failed = [verdict.target for verdict in verdicts if not verdict.passed]
    console.print()
    if failed:
        console.print(f"failed: {', '.join(failed)}", style="red")
    else:
        checks = sum(len(verdict.checks) for verdict in verdicts)
        console.print(f"{checks} checks passed", style="green")


def _required(verdict: Verdict) -> Text:
    run = [check for check in verdict.checks if check.outcome != "skipped"]
    if not verdict.failures:
        return Text(f"{len(run)} passed" if run else "-", style="green")
    parts = ", ".join(dict.fromkeys(check.part for check in verdict.failures))
    return Text(f"{len(verdict.failures)} of {len(run)} failed: {parts}", style="bold red")


def _behaviours(verdict: Verdict) -> Text:
    if not verdict.behaviours:
        return Text("-")
    risky = _ratings(verdict)["risky"]
    text = f"{len(verdict.behaviours)}, {risky} risky"
    if verdict.changes:
        return Text(f"{text}, {len(verdict.changes)} changed", style="bold red")
    return Text(text)


def _ratings(verdict: Verdict) -> Counter[str]:
    return Counter(
        questions()[id].answers[answer].rating for id, answer in verdict.behaviours.items()
    )


def _failures(verdict: Verdict) -> Iterator[tuple[str, str]]:
    if verdict.error:
        yield f"\n{verdict.target}: {verdict.error}", "bold red"
    lacking = _lacking(verdict)
    if lacking:
        lacks = ", ".join(lacking.values())
        yield f"\n{verdict.target} lacks {lacks}: all their checks failed", "red"
    shown = [check for check in verdict.failures if check.part not in lacking]
    log = ""
    for check in shown[:_MOST]:
        yield f"\n{verdict.target} · {check.part} · {check.name}", "bold red"
        yield check.message or check.where, ""
        if check.repeat:
            yield f"repeat    {check.repeat}", ""
        if check.log not in ("", log):
            log = check.log
            yield f"the end of the server's log:\n{textwrap.indent(log, '  ')}", "dim"
    if len(shown) > _MOST:
        yield f"\nand {len(shown) - _MOST} more failures of {verdict.target} (--json)", ""
    if verdict.left_out:
        count = sum(verdict.left_out.values())
        parts = ", ".join(f"{part} ({number})" for part, number in verdict.left_out.items())
        yield f"\n{verdict.target}: {count} checks need a server that is started here: {parts}", ""


def _lacking(verdict: Verdict) -> dict[str, str]:
    """Endpoints, by part, whose checks have all failed."""
    failed = Counter(check.part for check in verdict.failures)
    every = Counter(check.part for check in verdict.checks if check.outcome != "skipped")
    return {
        part: target.split("?")[0].replace("photo.jpg", "{name}")
        for part, target in EXAMPLES.items()
        if failed[part] > 1 and failed[part] == every[part]
    }


def _changes(verdict: Verdict) -> Iterator[tuple[str, str]]:
    for change in verdict.changes:
        question = questions().get(change.question)
        yield f"\n{verdict.target} · behaviour · {change.question}", "bold red"
        yield question.text if question else "this question no longer exists", ""
        yield f"recorded  {change.recorded or 'nothing'}\nseen      {change.seen or 'nothing'}", ""
    if verdict.changes:
        yield f"\n{verdict.target}: versions that changed: {_listed(verdict.upgrades)}", ""
        yield f"to accept these answers: just conform {verdict.target} --record", ""
    for id, error in verdict.unanswered.items():
        yield f"\n{verdict.target} · behaviour · {id}: no answer: {error}", "bold red"


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words) or "none"


def _foreign(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """The observed behaviours of a server that is not ours, risky ones first."""
    if verdict.ours or not verdict.behaviours:
        return
    yield f"\n{verdict.target} behaves like this (in the parts that it serves):", "bold"
    for rating in _RATINGS:
        for id, answer in verdict.behaviours.items():
            listed = questions()[id].answers[answer]
            if listed.rating == rating:
                why = f": {listed.why}" if rating == "risky" else ""
                yield f"  {rating:5}  {id}: {answer}{why}", _STYLES[rating]


def _show_fingerprints(verdicts: Sequence[Verdict], console: Console) -> None:
    found: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.fingerprint:
            found.setdefault(verdict.fingerprint, []).append(verdict.target)
    for fingerprint, targets in found.items():
        count = f"{len(targets)} of {len(verdicts)}"
        console.print(f"\nfingerprint {fingerprint} ({count})", soft_wrap=True)


def as_json(verdicts: Sequence[Verdict]) -> str:
    """Everything, for machines."""
    return json.dumps([one.as_dict() for one in verdicts], indent=2, ensure_ascii=False)


def write_junit(verdicts: Sequence[Verdict], path: Path) -> None:
    """The checks as JUnit XML: a suite per server, a case per check."""
    root = ElementTree.Element("testsuites")
    for verdict in verdicts:
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=verdict.target,
            tests=str(len(verdict.checks)),
            failures=str(len(verdict.failures)),
            skipped=str(sum(check.outcome == "skipped" for check in verdict.checks)),
            errors=str(int(bool(verdict.error))),
        )
        for check in verdict.checks:
            case = ElementTree.SubElement(
                suite,
                "testcase",
                classname=f"{verdict.target}.{check.part}",
                name=check.name,
                time=f"{check.seconds:.3f}",
            )
            if check.outcome == "skipped":
                ElementTree.SubElement(case, "skipped", message=check.message)
            elif check.outcome == "failed":
                failure = ElementTree.SubElement(case, "failure", message=check.message)
                failure.text = f"{check.message}\n{check.repeat}"
        for change in verdict.changes:
            name = f"behaviour {change.question}"
            case = ElementTree.SubElement(suite, "testcase", name=name)
            message = f"recorded {change.recorded}, seen {change.seen}"
            ElementTree.SubElement(case, "failure", message=message)
        if verdict.error:
            case = ElementTree.SubElement(suite, "testcase", name="the suite itself")
            ElementTree.SubElement(case, "error", message=verdict.error)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    write_whole(path, f"<?xml version='1.0' encoding='utf-8'?>\n{text}\n")
