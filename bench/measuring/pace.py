"""How fast this machine is right now.

A core's clock, and what neighbours on the same host leave of it and of the last-level cache, can
change by half within an hour. Where no counter of a virtual machine shows that, a fixed piece of
work does: it takes longer, and so does each request.
"""

import json
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from spec.content import agents

_ROUNDS = 9  # The median leaves out those that other programs or cold caches slowed down
_TIMES = 100
_CACHED = 1_500_000  # Numbers of 8 bytes: more than a core's own caches hold
_READ = 1_000_000


def work(clock: Callable[[], float] = time.thread_time) -> float:
    """Milliseconds of CPU time that a fixed piece of work takes, some ten of them: about as much
    by JSON in a core's own caches as by reads from the one that all cores share."""
    rows, numbers = agents(), np.ones(_CACHED)
    places = np.random.default_rng(1).integers(0, _CACHED, _READ)
    spent = []
    for _ in range(_ROUNDS):
        began = clock()
        for _ in range(_TIMES):
            json.loads(json.dumps(rows))
        numbers.take(places)
        spent.append((clock() - began) * 1000)
    return round(median(spent), 3)
