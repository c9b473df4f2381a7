"""wrk: the closed model, for a duration, without requests that never end.

https://github.com/wg/wrk
"""

import json
import math
from pathlib import Path

from bench.generators.load import GeneratorError, LoadResult, LoadSpec, run
from bench.result import Errors, Latency

_DOUBT = (
    "wrk does not count requests that never end, takes any status below 400 for success, and "
    "corrects its percentiles by a model"
)
SCRIPT = Path(__file__).with_name("wrk.lua")


def generate(spec: LoadSpec) -> LoadResult:
    """Keep one request in flight on each connection."""
    paths = spec.folder / "paths.txt"
    paths.write_text("".join(f"{path}\n" for path in spec.paths))
    connections = int(spec.level)
    command = [
        *("wrk", "--connections", str(connections)),
        *("--threads", str(min(spec.threads, connections))),
        *(
            "--duration",
            f"{math.ceil(spec.duration or 0)}s",
            "--timeout",
            f"{math.ceil(spec.timeout)}s",
        ),
        *(part for name, value in spec.headers.items() for part in ("-H", f"{name}: {value}")),
        *("--script", str(SCRIPT), spec.url, "--", str(paths)),
        *(["random"] if spec.random else []),
    ]
    finished = run(command, spec)
    line = next((line for line in finished.output.splitlines() if line.startswith("{")), None)
    if line is None:
        raise GeneratorError(f"wrk printed no result:\n{finished.output[-800:]}")
    values = json.loads(line)
    errors = Errors(**{kind: values.get(kind, 0) for kind in Errors.model_fields})
    good = max(values["requests"] - errors.status - errors.timeout, 0)
    latency = Latency(**{name: values[name] for name in Latency.model_fields}) if good else None
    seconds = values["microseconds"] / 1e6
    return LoadResult(
        command,
        good,
        seconds,
        latency,
        errors,
        finished.cpu,
        finished.output,
        finished.observer,
        attempts=good + errors.total,
        warnings=[_DOUBT],
    )
