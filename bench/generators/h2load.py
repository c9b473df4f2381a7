"""h2load over HTTP/1.1: a fixed number of requests, or connections at a rate.

https://nghttp2.org/documentation/h2load.1.html
"""

import math
import re
from pathlib import Path

from bench.generators.load import Finished, GeneratorError, LoadResult, LoadSpec, percentiles, run
from bench.result import Errors

_PERIODS = 100
"""The most often that connections are opened, per second."""


def generate(spec: LoadSpec) -> LoadResult:
    """Send a fixed number of requests; the log has the response time of each."""
    log = spec.folder / "h2load.tsv"
    log.unlink(missing_ok=True)
    paths = spec.folder / "paths.txt"
    if spec.model == "connection rate":
        assert spec.duration is not None
        connections = round(spec.level * spec.duration)
        requests = connections * spec.calls
        rate = _rate(int(spec.level))
    else:
        assert spec.requests is not None
        requests = spec.requests
        connections = min(int(spec.level), requests)
        rate = []
    targets = [spec.paths[i % len(spec.paths)] for i in range(min(requests, len(spec.paths)))]
    paths.write_text("".join(f"{spec.url}{path}\n" for path in targets))
    timeout = f"{math.ceil(spec.timeout) + 1}s"
    command = [
        *("h2load", "--h1", "--requests", str(requests), "--clients", str(connections)),
        *("--threads", str(min(spec.threads, connections)), *rate),
        *("--connection-inactivity-timeout", timeout),
        *(part for name, value in spec.headers.items() for part in ("-H", f"{name}: {value}")),
        *("--log-file", str(log), "--input-file", str(paths)),
    ]
    return _result(spec, command, run(command, spec), log, requests)


def _rate(per_second: int) -> list[str]:
    """The rate, in the shortest period with a whole number of connections and milliseconds."""
    common = math.gcd(per_second, 1000)
    periods = max(n for n in range(1, _PERIODS + 1) if common % n == 0)
    return ["--rate", str(per_second // periods), "--rate-period", f"{1000 // periods}ms"]


def _result(
    spec: LoadSpec, command: list[str], finished: Finished, log: Path, requests: int
) -> LoadResult:
    """The log's columns are start (µs since the epoch), status and response time (µs)."""
    good: list[float] = []
    status = late = 0
    first, last = math.inf, 0
    for line in log.read_text().splitlines():
        began, code, took = map(int, line.split("\t")[:3])
        first, last = min(first, began), max(last, began + took)
        if code < 0:
            continue
        if code != 200:
            status += 1
        elif took > spec.timeout * 1e6:
            late += 1
        else:
            good.append(took / 1000)
    totals = re.search(r"requests: .* (\d+) started, (\d+) done, .* (\d+) timeout", finished.output)
    if totals is None:
        raise GeneratorError(f"h2load printed no result:\n{finished.output[-800:]}")
    started, done, timeouts = map(int, totals.groups())
    errors = Errors(
        connect=requests - started,
        read=max(started - done - timeouts, 0),
        timeout=timeouts + late,
        status=status,
    )
    seconds = (last - first) / 1e6 if last else finished.seconds
    latency = percentiles(sorted(good))
    return LoadResult(
        command,
        len(good),
        seconds,
        latency,
        errors,
        finished.cpu,
        finished.output,
        finished.observer,
    )
