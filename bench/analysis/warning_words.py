"""The words of warnings, over the repeats of a figure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from bench.analysis.words import listed
from bench.records.measurement import Measurement
from bench.records.warning import BOUNDS, GATES, Severity, Warning, WarningKind

_WORDS: dict[WarningKind, str] = {
    "busy": "the machine was busy: other programs used {share}% of it",
    "waiting": "tasks waited for a CPU {share}% of the time",
    "steal": "the hypervisor gave {share}% of the CPU time to others",
    "observer": "measuring used {share}% of a core",
    "generator-busy": "the load generator used {share}% of its cores: it may be the bottleneck",
    "generator-late": "the load generator itself sent requests up to {ms} ms late",
    "absent-load": "only {share}% of the connections were being served at any time",
    "overload": "the machine was {share}% busy: the rate was more than it could bear",
    "unsteady": "the rate was not steady: {share}% {direction} in the last third of the load than "
    "in the first",
    "uncompared": "no response was compared during the load",
    "other-clients": "{source} counted {counted}, the requests needed {least}: other clients used "
    "it, or the server's driver asks more often than it must; so the count does not show that "
    "every request used it",
    "database-busy": "the database used {database} s of CPU, the server {server} s: the database "
    "may be the bottleneck",
    "upstream-busy": "the upstream used {share}% of a core: it may be the bottleneck",
    "crowded": "the load generator and the databases used {share}% of the cores that they share: "
    "they may be the bottleneck",
    "latency-bound": "latency-bound: no program used more than {share}% of a core, so requests "
    "waited for a timer or the network",
    "more-cores": "the server used {cores} cores with WORKERS={workers}: its requests per "
    "core-second compare with those of others, its rate does not",
    "connections-lost": "{count} of {clients} connections broke or were closed without notice; "
    "h2load does not reopen connections, so the load dropped from then on",
    "never-level": "the rate was still changing after {seconds} s of warm-up",
    "at-least": "every rate held: the capacity is at least {least} requests/s",
    "generator-limited": "the load generator was at its limit at {rate} requests/s: the capacity "
    "is at least {least}",
    "failed": "{share}% of the requests failed",
    "starved": "{count} of {clients} connections got no answer in the last {patience} s",
    "nothing-held": "no rate held, down to {rate} requests/s",
    "ended-early": "{count} requests waited for more than half of the load, which ended before "
    "the timeout of {timeout} s",
    "uninspected": "the connections could not be inspected: all {count} requests in flight at the "
    "end count as unfinished",
    "generator-costly": "the load generator used {cost} µs of CPU time per request: more than "
    "{limit} µs",
}
_ORDER: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True)
class Doubt:
    """The warnings of one kind that some repeats of a figure have."""

    kind: WarningKind
    severity: Severity
    text: str

    @property
    def matters(self) -> bool:
        """Whether it is more than good to know."""
        return self.severity != "note"

    @property
    def unranks(self) -> bool:
        """Whether the figure has no rank because of it."""
        return self.kind in GATES

    @property
    def bounds(self) -> bool:
        """Whether the figure may be better than it is."""
        return self.kind in BOUNDS


def text_of(*same: Warning) -> str:
    """Warnings of one kind in words."""
    ranges = {name: _range(name, [one.values[name] for one in same]) for name in same[0].values}
    return _WORDS[same[0].kind].format(**ranges)


def doubts(repeats: Iterable[Measurement]) -> list[Doubt]:
    """The warnings of a figure, the most severe first; numbers are the range over its repeats."""
    found: dict[tuple[object, ...], dict[int, Warning]] = defaultdict(dict)
    for one in repeats:
        for warning in one.warnings:
            names = tuple(value for value in warning.values.values() if isinstance(value, str))
            found[warning.kind, *names][one.repeat] = warning
    merged = []
    for at in found.values():
        first = next(iter(at.values()))
        where = f"{'repeat' if len(at) == 1 else 'repeats'} {listed(map(str, sorted(at)))}"
        merged.append(Doubt(first.kind, first.severity, f"{text_of(*at.values())} ({where})"))
    return sorted(merged, key=lambda doubt: _ORDER.index(doubt.severity))


def _range(name: str, values: Sequence[float | str]) -> str:
    """The lowest and the highest; texts are the same in all repeats."""
    numbers = sorted(value for value in values if not isinstance(value, str))
    digits = 1 if name in ("database", "server", "cores") else 0
    factor = 100 if name == "share" else 1
    ends = [f"{factor * value:.{digits}f}" for value in numbers[:1] + numbers[-1:]]
    return "–".join(dict.fromkeys(ends)) or str(values[0])
