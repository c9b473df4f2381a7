"""Load generators: existing programs, each for the load model that it suits.

wrk runs the closed model, h2load a fixed number of requests or connections at a rate, and Locust a
constant request rate. All return a :class:`LoadResult`.
"""

from collections.abc import Sequence

from bench.generators import h2load, locust, wrk
from bench.generators.load import GeneratorError, LoadResult, LoadSpec
from bench.workload import Load
from harness.toolchains import require


def generate(spec: LoadSpec, workers: Sequence[str] = ()) -> LoadResult:
    """Run a load against a server.

    ``workers`` are other machines that generate it instead of this one, with Locust.
    """
    if workers:
        return locust.generate(spec, workers)
    match spec.model:
        case "closed" if spec.requests is None:
            return wrk.generate(spec)
        case "closed" | "connection rate":
            return h2load.generate(spec)
        case _:
            return locust.generate(spec)


def prepare(load: Load) -> None:
    """Install the generator that a load needs."""
    counted = load.model == "connection rate" or load.requests is not None
    require(["locust" if load.model == "constant rate" else "h2load" if counted else "wrk", "wrk"])


__all__ = ["GeneratorError", "LoadResult", "LoadSpec", "generate", "prepare"]
