"""Shows what an upgrade changed."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.words import figure_text
from upkeep.upgrade import Changed, Moved, Upgrade

_STYLES = {"risky": "bold red", "slow": "yellow", "plain": "", "good": "green"}
_INDENT = (0, 0, 0, 2)


def show(upgrade: Upgrade, console: Console) -> None:
    """Print packages, checks, behaviours, figures, and what was written."""
    if not upgrade.packages and not upgrade.checks:
        console.print(f"{upgrade.server} is current: its constraints allow nothing newer")
        return
    if upgrade.packages:
        _heading(console, _counted(len(upgrade.packages), "package moved", "packages moved"))
        console.print(_packages(upgrade.packages))
    else:
        _heading(console, "No package moved that the server runs on, only those of its tests")
    checks = ", ".join(f"{target} {count}" for target, count in upgrade.checks.items())
    _heading(console, "Contract: " + ("kept" if upgrade.proved else "BROKEN"))
    console.print(f"  checks passed: {checks}", soft_wrap=True)
    changed = _counted(len(upgrade.behaviours), "answer", "answers")
    _heading(console, f"Behaviours: {changed} of {upgrade.answers} changed")
    for line in _behaviours(upgrade.behaviours):
        console.print(line, soft_wrap=True)
    _figures(upgrade, console)
    console.print()
    if not upgrade.written:
        advice = f"`just conform {upgrade.server}` shows whether the old versions keep the contract"
        console.print(f"nothing was written; {advice}", style="red", soft_wrap=True)
        return
    console.print(f"written: {', '.join(upgrade.written)}", soft_wrap=True)
    if advice := _advice(upgrade):
        console.print(advice, soft_wrap=True)


def _heading(console: Console, text: str) -> None:
    console.print(Text(f"\n{text}", style="bold"))


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _packages(packages: list[Moved]) -> Table:
    table = Table.grid(padding=_INDENT)
    for one in packages:
        style = "" if one.direct else "dim"
        versions = f"{one.before or 'new'} → {one.after or 'gone'}"
        note = "" if one.direct else "indirect"
        table.add_row("", Text(one.name, style), Text(versions, style), Text(note, style))
    return table


def _behaviours(changed: list[Changed]) -> Iterator[Text]:
    """Each change once, with the deployments that it happened to."""
    alike: dict[tuple[str, str | None, str | None], list[Changed]] = {}
    for one in changed:
        alike.setdefault((one.question, one.before, one.after), []).append(one)
    for same in alike.values():
        one = same[0]
        yield Text(f"  {one.question}: {one.text}")
        for label, answer, rating in (
            ("was", one.before, one.before_rating),
            ("now", one.after, one.after_rating),
        ):
            words = f"    {label}  {answer or 'no answer'}" + (f" ({rating})" if rating else "")
            why = f": {one.why}" if label == "now" and one.why else ""
            yield Text(words + why, style=_STYLES[rating or "plain"])
        yield Text(f"    on   {', '.join(one.target for one in same)}", style="dim")


def _figures(upgrade: Upgrade, console: Console) -> None:
    if upgrade.unmeasured:
        _heading(console, "CPU time: could not be measured")
        console.print(f"  {upgrade.unmeasured}", soft_wrap=True)
    if not upgrade.figures:
        return
    pairs = upgrade.figures[0].pairs
    _heading(console, f"CPU time of the server per request, in {pairs} pairs of measurements")
    table = Table.grid(padding=_INDENT)
    for one in upgrade.figures:
        table.add_row(
            "",
            one.path,
            f"{figure_text(one.before)} → {figure_text(one.after)} µs",
            f"× {one.ratio:.3f} ({one.low:.3f} to {one.high:.3f})",
            Text(one.verdict, {"less": "green", "more": "red"}.get(one.verdict, "dim")),
        )
    console.print(table)
    console.print(
        "  in brackets: 95% intervals, which hold together"
        if upgrade.figures[0].is_interval
        else "  in brackets: the lowest and highest ratio, of too few pairs for an interval",
        style="dim",
    )


def _advice(upgrade: Upgrade) -> str:
    """What to do about README.md, which names the risky answers."""
    new = {one.question for one in upgrade.behaviours if one.after_rating == "risky"}
    old = {one.question for one in upgrade.behaviours if one.before_rating == "risky"}
    parts = []
    if new - old:
        parts.append(f"add how to deal with {', '.join(sorted(new - old))}")
    if old - new:
        parts.append(f"see whether to drop {', '.join(sorted(old - new))}")
    return f"in its README.md: {'; '.join(parts)}" if parts else ""
