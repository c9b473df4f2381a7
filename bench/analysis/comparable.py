"""Whether two runs can be compared."""

from collections.abc import Iterator
from typing import Any

from bench.analysis.words import listed
from bench.records.result import Run

_NOT_THE_MEASUREMENT = {"title", "about", "servers", "repeats", "quick"}
"""Fields of a workload that change no figure."""
_MEASURING = ("h2load", "locust")
"""Versions that change what is measured with."""


def differences(before: Run, after: Run) -> list[str]:
    """In what two runs differ that should be the same, each as text."""
    return [
        f"{name} ({_text(one)} and {_text(other)})"
        for name, one, other in _pairs(before, after)
        if one != other
    ]


def _pairs(before: Run, after: Run) -> Iterator[tuple[str, Any, Any]]:
    yield "workload", before.workload_name, after.workload_name
    yield "quick", before.quick, after.quick
    left_out = _NOT_THE_MEASUREMENT | {"load"}
    yield from _fields("", before.workload, after.workload, left_out)
    yield from _fields("load ", before.workload.load, after.workload.load, set())
    yield from _fields("machine's ", before.machine, after.machine, set())
    for name in _MEASURING:
        yield f"version of {name}", before.versions.get(name), after.versions.get(name)
    yield "affinity", _affinities(before), _affinities(after)


def _fields(of: str, before: Any, after: Any, left_out: set[str]) -> Iterator[tuple[str, Any, Any]]:
    one, other = before.model_dump(), after.model_dump()
    for name in one:
        if name not in left_out:
            yield of + name, one[name], other[name]


def _affinities(run: Run) -> list[str]:
    """The distinct affinities of a run's turns."""
    return sorted({_text(one.affinity) for one in run.measurements})


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={_text(one)}" for name, one in value.items()) or "none"
    if isinstance(value, list):
        return listed(map(_text, value)) if value else "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
