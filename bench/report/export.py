"""The measurements of a run as CSV, one line each."""

import csv
from collections.abc import Iterator
from io import StringIO
from typing import Any

from bench.records.result import Run

_LEFT_OUT = {
    *("output", "histogram", "command", "settings", "environment"),
    *("per_second", "steps", "sources", "affinity", "warnings"),
}


def as_csv(run: Run) -> str:
    """The measurements in the order of the result, without texts and series."""
    lines: list[dict[str, Any]] = [
        {
            "run": run.id,
            "workload": run.workload_name,
            "language": run.servers[one.target].language,
            "concurrency": run.servers[one.target].model,
        }
        | dict(_flat(one.model_dump(exclude=_LEFT_OUT)))
        | {"warnings": "; ".join(warning.kind for warning in one.warnings)}
        for one in run.measurements
    ]
    text = StringIO()
    fields = dict.fromkeys(name for line in lines for name in line)
    writer = csv.DictWriter(text, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _flat(values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from ((f"{name}_{part}", of) for part, of in value.items())
        else:
            yield name, value
