"""``./just compare A B``: the differences between two results."""

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click
import numpy as np
from rich.table import Table
from rich.text import Text

from bench.analysis.blocks import Repeats, block_effects
from bench.analysis.estimates import ERROR, Estimate, Ratio, between_runs, bounded, mean_of
from bench.analysis.figures import FIGURES, most_of, values_by_server
from bench.analysis.standings import measured_by_table
from bench.analysis.summary import column, shown
from bench.analysis.words import at_level, interval_text, listed, ratio_text
from bench.records.result import Run
from bench.records.store import find, read
from bench.workloads.load import Load
from harness.console import result, say
from harness.errors import UsageError
from harness.task import reports_errors

_Place = tuple[str, float]  # A case and a level
_LEAST = 0.05  # The share below which a change is ignored
# Fields of a workload that change no figure, and its load, whose fields are compared
_NOT_THE_MEASUREMENT = {"title", "about", "servers", "repeats", "quick", "load"}
_GENERATOR = "h2load"  # Its version changes what is measured with


@dataclass(frozen=True)
class Change:
    """The change of one figure of one server, in one case at one level."""

    target: str
    case: str
    level: float
    figure: str
    # The repeats; infinite where a latency is over the timeout
    before: tuple[float, ...]
    after: tuple[float, ...]
    ratio: float  # Of the geometric means, after divided by before
    # Adjusted for how many ratios are shown; None for a single repeat
    interval: Ratio | None
    # `better`; `worse`; `same` (no change is found, or one of less than 5%); `shared` (it changed,
    # but no more than the other servers did); or `unsure` (a single repeat has no interval)
    verdict: str


def changes(before: Run, after: Run) -> list[Change]:
    """The changes of the servers and figures that both runs have.

    At most 5% of all comparisons of runs of the same servers name any change (Bonferroni over the
    ratios shown). A change is named only if the server has changed against the other servers, too:
    what all have in common may be the machine's.
    """
    load = after.workload.load
    both = [pair for figure in shown(load) for pair in _pairs(before, after, figure)]
    order = {target: at for at, target in enumerate(after.servers)}
    both.sort(key=lambda pair: (order[pair.target], pair.place))
    return [_change(pair, load, ERROR / len(both)) for pair in both]


@dataclass(frozen=True)
class _Pair:
    """A figure of a server in both runs, and of the servers beside it."""

    place: _Place
    figure: str
    target: str
    before: Mapping[str, Repeats]
    after: Mapping[str, Repeats]


def _pairs(before: Run, after: Run, figure: str) -> Iterator[_Pair]:
    """The pairs of the servers that both runs have."""
    one, other = measured_by_table(before), measured_by_table(after)
    for place in other:
        old = values_by_server(one.get(place, {}), FIGURES[figure])
        new = values_by_server(other[place], FIGURES[figure])
        both = [target for target in new if target in old]
        olds, news = ({name: of[name] for name in both} for of in (old, new))
        yield from (_Pair(place, figure, target, olds, news) for target in both)


def _change(pair: _Pair, load: Load, error: float) -> Change:
    old, new = pair.before[pair.target], pair.after[pair.target]
    raw = np.array([*old.values(), *new.values()])
    values = bounded(raw, most_of(FIGURES[pair.figure], load)).tolist()
    ones, others = values[: len(old)], values[len(old) :]
    found = between_runs(ones, others)
    ratio = found.ratio(error) if found else None
    return Change(
        pair.target,
        *pair.place,
        pair.figure,
        tuple(old.values()),
        tuple(new.values()),
        mean_of(others) / mean_of(ones),
        ratio,
        _verdict(pair, values, ratio, error),
    )


def _verdict(pair: _Pair, values: list[float], ratio: Ratio | None, error: float) -> str:
    if ratio is None:
        return "unsure"
    if not ratio.differs or abs(ratio.value - 1) < _LEAST:
        return "same"
    own = _against_others(pair, values, error)
    if own and (not own.differs or (own.value > 1) != (ratio.value > 1)):
        return "shared"
    return "better" if (ratio.value > 1) == (FIGURES[pair.figure].better == "more") else "worse"


def _against_others(pair: _Pair, values: list[float], error: float) -> Ratio | None:
    """The change that is left without the blocks' effects, as the other servers show them.

    ``values`` are the server's own, before and after, each with a logarithm.
    """
    joint = {
        target: {**old, **{-block: value for block, value in pair.after[target].items()}}
        for target, old in pair.before.items()
    }  # the blocks of AFTER are negative
    own = dict(zip(joint.pop(pair.target), values, strict=True))
    others = [one for one in joint.values() if all(0 < value < math.inf for value in one.values())]
    if not others:
        return None
    effects = block_effects(others)
    left = {
        block: value / math.exp(effects[block]) for block, value in own.items() if block in effects
    }
    earlier = [value for block, value in left.items() if block > 0]
    later = [value for block, value in left.items() if block < 0]
    found = between_runs(earlier, later)
    return found.ratio(error) if found else None


def gone(before: Run, after: Run) -> list[str]:
    """The servers that BEFORE has figures of and AFTER has not, with the reason."""
    load = before.workload.load
    had, have = measured_by_table(before), measured_by_table(after)
    found = []
    for target in before.servers:
        lost = [at for at in had if target in had[at] and target not in have.get(at, {})]
        if not lost:
            continue
        failed = [one for one in after.failures if one.target == target]
        if failed:
            what = "disqualified" if any(one.disqualifies for one in failed) else "failed"
            why = f"{what}: {failed[-1].why}"
        else:
            why = "not measured" if target in after.servers else "not in this run"
        places = listed(f"{at_level(load, level)} ({case})" for case, level in lost)
        found.append(f"{target} has no result for {places}: {why}")
    return found


def differences(before: Run, after: Run) -> list[str]:
    """In what two runs differ that should be the same, each as text."""
    one, other = _conditions(before), _conditions(after)
    return [
        f"{name} ({_text(one[name])} and {_text(other[name])})"
        for name in one
        if one[name] != other[name]
    ]


def _conditions(run: Run) -> dict[str, Any]:
    load, machine = run.workload.load.model_dump(), run.machine.model_dump()
    return {
        "workload": run.workload_name,
        "quick": run.quick,
        "other machines": run.hosts,
        **run.workload.model_dump(exclude=_NOT_THE_MEASUREMENT),
        **{f"load {name}": value for name, value in load.items()},
        **{f"machine's {name}": value for name, value in machine.items()},
        f"version of {_GENERATOR}": run.versions.get(_GENERATOR),
        "affinity": sorted({_text(one.affinity) for one in run.measurements}),
    }


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={_text(one)}" for name, one in value.items()) or "none"
    if isinstance(value, list):
        return listed(map(_text, value)) if value else "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("before")
@click.argument("after")
@click.option("--anyway", is_flag=True, help="Compare runs that are not alike.")
@click.option("--json", "to_json", is_flag=True, help="Print JSON.")
@reports_errors
def main(before: str, after: str, anyway: bool, to_json: bool) -> None:
    """Show what changed from result BEFORE to result AFTER (files, or ids in results/).

    Changes of less than 5% are ignored.

    The ratios' intervals include the noise within and between the repeats of each run. They cannot
    include a change of the machine between the runs, so a change that all servers share is not
    held against any. To find a small change, measure both versions in one run, as two servers.

    Exit status 1 if a server got worse, or no longer has results.
    """
    one, other = read(find(before)), read(find(after))
    if unlike := differences(one, other):
        text = f"these runs are not alike: they differ in {listed(unlike)}"
        if not anyway:
            raise UsageError(f"{text}. --anyway compares them all the same")
        say(text)
    found, lost = changes(one, other), gone(one, other)
    if not found and not lost:
        raise UsageError("these results have no server, case and level in common")
    if to_json:
        click.echo(json.dumps({"changes": [_json(one) for one in found], "gone": lost}, indent=2))
    else:
        _show(found, other.workload.load)
        for text in lost:
            result.print(Text(f"GONE  {text}", style="red"), soft_wrap=True)
    sys.exit(1 if lost or any(change.verdict == "worse" for change in found) else 0)


def _json(change: Change) -> dict[str, object]:
    """Infinite values as null, which JSON has no number for."""

    def finite(values: tuple[float, ...]) -> list[float | None]:
        return [value if math.isfinite(value) else None for value in values]

    return asdict(change) | {"before": finite(change.before), "after": finite(change.after)}


_STYLES = {"better": "green", "worse": "red", "same": "dim", "shared": "yellow", "unsure": "yellow"}


def _show(found: Sequence[Change], load: Load) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("server", "case", "level", "figure"):
        table.add_column(heading)
    for heading in ("before", "after", "after ÷ before", ""):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in found:
        table.add_row(
            one.target,
            one.case,
            f"{one.level:g}",
            column(one.figure, load),
            _repeats_text(one.before),
            _repeats_text(one.after),
            ratio_text(one.interval) if one.interval else f"{one.ratio:.2f}",
            Text(one.verdict, style=_STYLES[one.verdict]),
        )
    result.print(table)
    if any(one.interval for one in found):
        text = (
            f"\n( to ): 95% intervals, simultaneous over the {len(found)} ratios. They include the "
            "noise within and between the repeats of each run, but no change of the machine "
            "between the runs."
        )
        result.print(Text(text, style="dim"), soft_wrap=True)
    if any(one.verdict == "shared" for one in found):
        text = "shared: changed, but no more than the other servers: look at the machine first."
        result.print(Text(text, style="yellow"), soft_wrap=True)


def _repeats_text(values: tuple[float, ...]) -> str:
    return interval_text(Estimate.without_interval(mean_of(values), values))


if __name__ == "__main__":
    main(prog_name="just compare")
