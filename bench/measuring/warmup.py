"""The warm-up that precedes a measurement.

Georges, Buytaert and Eeckhout, Statistically rigorous Java performance evaluation (2007), measure
at steady state; Barrett and others, Virtual machine warmup blows hot and cold (2017), show that it
takes minutes, or never comes.
"""

import time
from collections.abc import Callable, Sequence

from bench.generators.interface import LoadResult, LoadSpec
from bench.measuring.process_tree import Tree
from bench.measuring.steadiness import change
from bench.records.measurement import Warmup

LONGEST = 60.0  # The most seconds under load
_STAGE = 1.0  # The fewest seconds of its first stage
_REQUESTS = 2_000  # The fewest requests of a warm-up, unless it takes
_SECONDS = 15.0  # as long as this
_CONNECTIONS = 50  # Before loads whose level is no number of connections
_NEW = 400.0  # New connections per second at the end
_BURST = 1.0  # Seconds of a burst of load, and
_OPENED = 500  # the connections for which it takes a second more
_REST = 3.0  # The most seconds between two bursts
_LOOK = 0.25  # Seconds in which
_IDLE = 0.1  # a server at rest uses less than this share of a core


def warmed(
    load: LoadSpec,
    put: Callable[[LoadSpec], LoadResult],
    rest: Callable[[], None],
    least: float,
    own: float | None,
) -> tuple[list[LoadResult], Warmup]:
    """Put ``load`` on a server, in the closed model, until its rate is level.

    The load comes in bursts, with a ``rest`` after each: under load, a JIT compiler gets no more of
    the server's cores than each of its other threads.

    If a rate is given, nothing can become level: the warm-up takes as long as two stages of
    ``least`` seconds. ``own`` seconds replace both. Loads of other models begin with new
    connections, on which a JIT compiler has to be warm as well.
    """
    is_closed = load.load.model == "closed"
    closed = load.but(
        model="closed",
        level=load.level if is_closed else _CONNECTIONS,
        threads=load.load.threads if is_closed else 1,
        requests=None,
    )

    def bursts(spec: LoadSpec, seconds: float) -> list[LoadResult]:
        count = max(round(seconds / (_BURST + closed.level / _OPENED)), 1)
        found = []
        for _ in range(count):
            found.append(put(spec.but(duration=seconds / count)))
            rest()
        return found

    if own is None and load.load.seeks_most:
        results, warmup = warm_up(lambda seconds: bursts(closed, seconds), least)
    else:
        seconds = max(2 * least if own is None else own, 1)
        results = bursts(closed, seconds)
        warmup = Warmup(seconds=seconds, requests=_requests(results), judged=False)
    if not is_closed:
        new = closed.but(model="connection rate", level=_NEW, calls=len(load.paths))
        added = bursts(new, least)
        results += added
        warmup.seconds += least
        warmup.requests += _requests(added)
    return results, warmup


def warm_up(
    put: Callable[[float], list[LoadResult]], least: float, longest: float = LONGEST
) -> tuple[list[LoadResult], Warmup]:
    """Put load on a server until its rate is level; ``put`` does so for some seconds, in bursts.

    Each stage is as long as all before it, so that a slow rise is seen as well as a quick one: the
    rate is level if it was no higher in the last stage than in the one before, but for the noise.
    """
    spent, is_level = min(max(least, _STAGE), longest), False
    stages = [put(spent)]
    while not is_level and spent < longest:
        length = min(spent, longest - spent)
        stages.append(put(length))
        spent += length
        enough = spent >= _SECONDS or sum(map(_requests, stages)) >= _REQUESTS
        rise = change(_windows(stages[-2]), _windows(stages[-1])) or 0
        is_level = enough and rise <= 0
    requests, until = (sum(map(_requests, some)) for some in (stages, stages[:-2]))
    warmup = Warmup(seconds=spent, requests=requests, until_level=until if is_level else None)
    return [one for stage in stages for one in stage], warmup


def _requests(results: Sequence[LoadResult]) -> int:
    return sum(one.requests for one in results)


def _windows(bursts: Sequence[LoadResult]) -> list[int]:
    """Without the first of each burst, in which its connections are opened."""
    return [count for one in bursts for count in one.windows[1:]]


def come_to_rest(server: Tree) -> None:
    """Wait until a server is idle, as a JIT compiler goes on with what the load has queued."""
    deadline, used = time.monotonic() + _REST, server.cpu()
    while time.monotonic() < deadline:
        time.sleep(_LOOK)
        before, used = used, server.cpu()
        if used - before < _IDLE * _LOOK:
            return
