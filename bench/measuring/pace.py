"""How fast this machine is right now.

A core's clock, and what neighbours on the same host leave of it, can change by half within an hour.
Where no counter of a virtual machine shows that, a fixed piece of work does: it takes longer, and
so does each request.
"""

import json
import time
from collections.abc import Callable
from statistics import median

from spec.content import agents

_ROUNDS = 9  # The median leaves out those that other programs or cold caches slowed down
_TIMES = 100


def work(clock: Callable[[], float] = time.thread_time) -> float:
    """Milliseconds of CPU time that a fixed piece of work takes, some ten of them."""
    rows = agents()
    spent = []
    for _ in range(_ROUNDS):
        began = clock()
        for _ in range(_TIMES):
            json.loads(json.dumps(rows))
        spent.append((clock() - began) * 1000)
    return round(median(spent), 3)
