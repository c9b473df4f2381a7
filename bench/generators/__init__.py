"""Load generators: programs that exist, each for the load model that it is right for.

wrk drives the closed model, h2load counted requests and connections at a rate, Locust requests at
a constant rate. All tell what they found as an :class:`Outcome`.
"""

from collections.abc import Sequence

from bench.generators import h2load, locust, wrk
from bench.generators.order import Order, Outcome, OutOfOrder
from bench.workload import Load
from harness.toolchains import require


def generate(order: Order, workers: Sequence[str] = ()) -> Outcome:
    """Put a load on a server, and tell what came of it.

    ``workers`` are other machines that put it on in place of this one (constant rate alone).
    """
    match order.model:
        case "closed" if order.requests is None:
            return wrk.generate(order)
        case "closed" | "connection rate":
            return h2load.generate(order)
        case _:
            return locust.generate(order, workers)


def prepare(load: Load) -> None:
    """Bring the generator that a load needs."""
    counted = load.model == "connection rate" or load.requests is not None
    require(["locust" if load.model == "constant rate" else "h2load" if counted else "wrk", "wrk"])


__all__ = ["Order", "OutOfOrder", "Outcome", "generate", "prepare"]
