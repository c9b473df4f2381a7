"""wrk: the closed model, for a time. https://github.com/wg/wrk"""

import json
import math
from pathlib import Path

from bench.generators.order import Order, Outcome, OutOfOrder, run
from bench.result import Errors, Latency

SCRIPT = Path(__file__).with_name("wrk.lua")


def generate(order: Order) -> Outcome:
    """Keep as many requests in flight as there are connections."""
    paths = order.folder / "paths.txt"
    paths.write_text("".join(f"{path}\n" for path in order.paths))
    connections = int(order.level)
    command = [
        *("wrk", "--connections", str(connections)),
        *("--threads", str(min(order.threads, connections))),
        *(
            "--duration",
            f"{math.ceil(order.duration or 0)}s",
            "--timeout",
            f"{math.ceil(order.timeout)}s",
        ),
        *(part for name, value in order.headers.items() for part in ("-H", f"{name}: {value}")),
        *("--script", str(SCRIPT), order.url, "--", str(paths)),
        *(["random"] if order.random else []),
    ]
    ended = run(command, order)
    line = next((line for line in ended.output.splitlines() if line.startswith("{")), None)
    if line is None:
        raise OutOfOrder(f"wrk told nothing:\n{ended.output[-800:]}")
    told = json.loads(line)
    errors = Errors(**{kind: told[kind] for kind in Errors.model_fields})
    good = max(told["requests"] - errors.status - errors.timeout, 0)
    latency = Latency(**{name: told[name] for name in Latency.model_fields}) if good else None
    seconds = told["microseconds"] / 1e6
    return Outcome(command, good, seconds, latency, errors, ended.cpu, ended.output, ended.observer)
