"""Tells what was found: a matrix and the failures, JSON, JUnit XML."""

import json
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.verdict import Verdict

_MOST = 20
"""Failures that are shown in full for one server."""


def show(verdicts: Sequence[Verdict], console: Console) -> None:
    """Print the matrix, servers by parts of the contract, and each failure with its curl line."""
    parts = list(dict.fromkeys(check.part for verdict in verdicts for check in verdict.checks))
    table = Table(box=None, pad_edge=False)
    table.add_column("server", no_wrap=True, vertical="bottom")
    for part in parts:
        table.add_column("\n".join(part), justify="right", vertical="bottom", min_width=2)
    table.add_column("fingerprint", no_wrap=True, vertical="bottom")
    for verdict in verdicts:
        table.add_row(
            Text(verdict.target, style="green" if verdict.passed else "red"),
            *(_cell(verdict, part) for part in parts),
            (verdict.fingerprint or "-")[:8],
        )
    console.print(table)
    for verdict in verdicts:
        _show_failures(verdict, console)
    _show_fingerprints(verdicts, console)
    failed = [verdict.target for verdict in verdicts if not verdict.passed]
    count = sum(len(verdict.checks) for verdict in verdicts)
    wrong = sum(len(verdict.failures) for verdict in verdicts)
    console.print()
    if failed:
        console.print(f"{wrong} of {count} checks failed: {', '.join(failed)}", style="red")
    else:
        console.print(f"{count} checks passed", style="green")


def _cell(verdict: Verdict, part: str) -> Text:
    checks = [check for check in verdict.checks if check.part == part]
    failures = sum(check.outcome != "passed" for check in checks)
    if failures:
        return Text(str(failures), style="bold red")
    return Text("✓" if checks else "-", style="green" if checks else "dim")


def _show_failures(verdict: Verdict, console: Console) -> None:
    def tell(text: str, style: str = "") -> None:
        console.print(Text(text, style=style), soft_wrap=True)

    for check in verdict.failures[:_MOST]:
        tell(f"\n{verdict.target} · {check.part} · {check.name}", "bold red")
        tell(check.message or check.where)
        if check.repeat:
            tell(f"repeat    {check.repeat}")
    if len(verdict.failures) > _MOST:
        tell(f"\nand {len(verdict.failures) - _MOST} more failures of {verdict.target} (--json)")
    if verdict.error:
        tell(f"\n{verdict.target}: {verdict.error}", "bold red")
    if verdict.left_out:
        count = sum(verdict.left_out.values())
        parts = ", ".join(f"{part} ({number})" for part, number in verdict.left_out.items())
        tell(f"\n{verdict.target}: {count} checks need a server that is started here: {parts}")


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
    """The checks as JUnit XML: a suite a server, a case a check."""
    root = ElementTree.Element("testsuites")
    for verdict in verdicts:
        failures, checks = len(verdict.failures), len(verdict.checks)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=verdict.target,
            tests=str(checks),
            failures=str(failures),
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
            if check.outcome != "passed":
                failure = ElementTree.SubElement(case, "failure", message=check.message)
                failure.text = f"{check.message}\n{check.repeat}"
        if verdict.error:
            case = ElementTree.SubElement(suite, "testcase", name="the suite itself")
            ElementTree.SubElement(case, "error", message=verdict.error)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
