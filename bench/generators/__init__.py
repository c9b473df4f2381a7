"""The load generator, h2load, here or on other machines, and the search for a capacity by it."""

from functools import partial

from bench.generators import capacity, h2load
from bench.generators.interface import GeneratorError, LoadResult, LoadSpec
from bench.generators.workers import Workers
from harness.toolchains.install import require


def generate(spec: LoadSpec, workers: Workers | None = None) -> LoadResult:
    """Put a load on a server, from this machine or from ``workers``."""
    if spec.load.model == "capacity":
        return capacity.search(spec, partial(generate, workers=workers))
    return workers.generate(spec) if workers else h2load.generate(spec)


def prepare() -> None:
    """Install what generates load on this machine, and what looks at its connections."""
    require(["h2load", "iproute2"])


__all__ = ["GeneratorError", "LoadResult", "LoadSpec", "Workers", "generate", "prepare"]
