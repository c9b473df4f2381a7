"""The warm-up that precedes a measurement.

Georges, Buytaert and Eeckhout, Statistically rigorous Java performance evaluation (2007), measure
at steady state; Barrett and others, Virtual machine warmup blows hot and cold (2017), show that it
takes minutes, or never comes.
"""

import time
from collections.abc import Callable

from bench.generators.interface import LoadResult, LoadSpec
from bench.measuring.process_tree import Tree
from bench.measuring.steadiness import change
from bench.records.measurement import Warmup

LONGEST = 120.0  # The most seconds of a warm-up; on a JVM each trial may take that long
_STAGE = 1.0  # The fewest seconds of its first stage
_REQUESTS = 2_000  # The fewest requests of a warm-up, unless it takes
_SECONDS = 15.0  # as long as this
_CONNECTIONS = 50  # Before loads whose level is no number of connections
_NEW = 400.0  # New connections per second at the end
_REST = 30.0  # The most seconds that a server gets to come to rest
_LOOK = 0.5  # Seconds in which
_IDLE = 0.05  # a server at rest uses less than this share of a core


def warmed(
    load: LoadSpec, put: Callable[[LoadSpec], LoadResult], least: float, own: float | None
) -> tuple[list[LoadResult], Warmup]:
    """Put ``load`` on a server, in the closed model, until its rate is level.

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
    if own is None and load.load.seeks_most:
        stages, warmup = warm_up(lambda seconds: put(closed.but(duration=seconds)), least)
    else:
        seconds = max(2 * least if own is None else own, 1)
        stages = [put(closed.but(duration=seconds))]
        warmup = Warmup(seconds=seconds, requests=stages[0].requests, judged=False)
    if not is_closed:
        calls = len(load.paths)
        new = closed.but(model="connection rate", level=_NEW, duration=least, calls=calls)
        stages.append(put(new))
        warmup.seconds += least
        warmup.requests += stages[-1].requests
    return stages, warmup


def warm_up(
    put: Callable[[float], LoadResult], least: float, longest: float = LONGEST
) -> tuple[list[LoadResult], Warmup]:
    """Put load on a server until its rate is level; ``put`` does so for some seconds.

    Each stage is as long as all before it, so that a slow rise is seen as well as a quick one: the
    rate is level if it was no higher in the last stage than in the one before, but for the noise.
    """
    spent, is_level = min(max(least, _STAGE), longest), False
    stages = [put(spent)]
    while not is_level and spent < longest:
        length = min(spent, longest - spent)
        stages.append(put(length))
        spent += length
        enough = spent >= _SECONDS or sum(one.requests for one in stages) >= _REQUESTS
        # The first window of each stage is that in which its connections are opened
        rise = change(stages[-2].windows[1:], stages[-1].windows[1:]) or 0
        is_level = enough and rise <= 0
    requests, until = (sum(one.requests for one in some) for some in (stages, stages[:-2]))
    return stages, Warmup(seconds=spent, requests=requests, until_level=until if is_level else None)


def come_to_rest(server: Tree, longest: float = _REST) -> None:
    """Wait until a server is idle: a JIT compiler goes on with what the warm-up has queued."""
    deadline, used = time.monotonic() + longest, server.cpu()
    while time.monotonic() < deadline:
        time.sleep(_LOOK)
        before, used = used, server.cpu()
        if used - before < _IDLE * _LOOK:
            return
