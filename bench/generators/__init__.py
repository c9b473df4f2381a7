"""Load generators: existing programs, each for the load model that it suits.

h2load runs the closed model and connections at a rate, Locust a constant request rate, also in the
search for a capacity. Both return a :class:`LoadResult`.
"""

from collections.abc import Sequence

from bench.generators import capacity, h2load
from bench.generators import locust_program as locust
from bench.generators.interface import GeneratorError, LoadResult, LoadSpec
from bench.workloads.load import OPEN, Load
from harness.toolchains.install import require


def generate(spec: LoadSpec, workers: Sequence[str] = ()) -> LoadResult:
    """Run a load against a server.

    ``workers`` are other machines that generate it instead of this one, with Locust.
    """
    match spec.load.model:
        case "capacity":
            return capacity.search(
                spec, lambda step: generate(step.but(threads=spec.load.threads), workers)
            )
        case "constant rate":
            return locust.generate(spec, workers)
        case _ if workers:
            return locust.generate(spec, workers)
        case _:
            return h2load.generate(spec)


def prepare(load: Load) -> None:
    """Install the generators that a load needs, with its warm-up."""
    require(["h2load", "iproute2", *(["locust"] if load.model in OPEN else [])])


__all__ = ["GeneratorError", "LoadResult", "LoadSpec", "generate", "prepare"]
