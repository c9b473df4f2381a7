"""Load generators: existing programs, each for the loads that it suits.

h2load generates the load on this machine, at a fraction of Locust's cost. Locust generates it on
others, and a constant rate for servers that close each connection: h2load keeps no schedule across
connections. Both return a :class:`LoadResult`.
"""

from collections.abc import Sequence

from bench.generators import capacity, h2load
from bench.generators import locust_program as locust
from bench.generators.interface import GeneratorError, LoadResult, LoadSpec
from harness.toolchains.install import require


def generate(spec: LoadSpec, workers: Sequence[str] = ()) -> LoadResult:
    """Run a load against a server.

    ``workers`` are other machines that generate it instead of this one, with Locust.
    """
    if spec.load.model == "capacity":
        return capacity.search(
            spec, lambda step: generate(step.but(threads=spec.load.threads), workers)
        )
    unscheduled = spec.load.model == "constant rate" and not spec.keep_alive
    if workers or unscheduled:
        return locust.generate(spec, workers)
    return h2load.generate(spec)


def prepare() -> None:
    """Install what generates load on this machine, and what looks at its connections."""
    require(["h2load", "iproute2"])


__all__ = ["GeneratorError", "LoadResult", "LoadSpec", "generate", "prepare"]
