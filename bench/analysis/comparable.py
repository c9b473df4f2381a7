"""Whether two runs can be compared."""

from typing import Any

from bench.analysis.words import listed
from bench.records.result import Run

# Fields of a workload that change no figure, and its load, whose fields are compared
_NOT_THE_MEASUREMENT = {"title", "about", "servers", "repeats", "quick", "load"}
_GENERATOR = "h2load"  # Its version changes what is measured with


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
