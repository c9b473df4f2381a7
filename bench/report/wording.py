"""Names of figures and loads, which depend on the load model."""

from bench.analysis.figures import Figure
from bench.analysis.words import figure_text
from bench.records.result import Run
from bench.workloads.load import OPEN, Model

# The figures that are response times
TIMES = {"p50": "median", "p99": "99th percentile", "p99_9": "99.9th percentile", "max": "longest"}


def times_name(model: Model) -> str:
    """The name of response times.

    In a closed loop a slow server gets fewer requests, which hides its worst times, so that they
    cannot be compared between servers.
    """
    return "Latency" if model in OPEN else "Response time (closed loop)"


def title_of(figure: Figure, model: Model) -> str:
    """The title of a figure."""
    if figure.name in TIMES:
        return f"{times_name(model)}, {TIMES[figure.name]}"
    if figure.name == "rate" and model == "capacity":
        return "Capacity"
    return figure.title


def kind_text(run: Run) -> str:
    """The kind of a run's machines: ``2 cores, Intel Xeon, microcode 0x1, 24 GiB``."""
    cpu, _, microcode, cores, memory = run.machine.kind
    named = [cores, cpu, *([f"microcode {microcode}"] if microcode else [])]
    return ", ".join([*named, memory, *(f"with {host}" for host in run.hosts)])


def value_text(value: float, figure: Figure) -> str:
    """A figure with its unit, as short as a cell needs it: ``4,100/s``, ``12.1 ms``."""
    unit = {"requests/s": "/s", "µs/request": " µs"}.get(figure.unit, f" {figure.unit}")
    return f"{figure_text(value)}{unit}"


def share_text(share: float) -> str:
    """A share of the best; 100% is only for what is not below it."""
    if 0.995 <= share < 1:
        return ">99%"
    return f"{100 * share:.0f}%" if share >= 0.1 else f"{100 * share:.2g}%"
