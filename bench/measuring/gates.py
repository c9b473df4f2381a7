"""The gates that a measurement has to pass; each one that it does not is a warning."""

from collections.abc import Iterator, Sequence

from bench.generators.connections import PATIENCE
from bench.generators.interface import LoadResult
from bench.measuring.cores import Cores
from bench.measuring.meter import Usage
from bench.measuring.steadiness import drift
from bench.records.histogram import merged
from bench.records.measurement import Checked, Sources, Warmup
from bench.records.warning import Warning
from bench.workloads.workload import Case, Workload

_BUSY = 0.05  # The share of the machine that other programs may use
_WAITED = 0.25  # The share of time in which a task may wait for a CPU
_STOLEN = 0.01  # The share of CPU time that the hypervisor may give to others
_SATURATED = 0.8  # The share of its cores that the load generator or the upstream may use
_OBSERVED = 0.03  # The share of a core that measuring may use
# The share of the response time that counts by which the generator may be late: of the median, and
# of the limit on it in a search for the capacity
_LATE = 0.1
_PUNCTUAL = 1.5  # Milliseconds that are never late: a tick of h2load's timers, and to wake up
_PRESENT = 0.9  # The share of the connections that must be in service on average
_OVERLOADED = 0.9  # The share of the machine that a given rate may use
_SHARE = 1.25  # Cores that a server may use for each of its processes
_IDLE = 0.5  # The share of a core below which a program does not limit the rate
_FAILED = 0.01  # The share of requests that may fail
_TOO_MUCH = 2  # The largest ratio of a data source's count to the operations that requests need
# Further operations: requests still in flight at the end, and compared responses
_SLACK = 1_000


def warnings(
    workload: Workload,
    case: Case,
    level: float,
    result: LoadResult,
    usage: Usage,
    checked: Checked,
    sources: Sequence[Sources],
    warmup: Warmup | None,
    cores: Cores,
) -> list[Warning]:
    """The warnings that a figure carries."""
    return [
        *result.warnings,
        *_machine(usage, is_alone=_is_alone(usage, cores)),
        *_generator(workload, level, result, usage),
        *_load(workload, level, result, usage),
        *_steadiness(workload, level, result, warmup),
        *_bottlenecks(workload, case, result, usage, cores),
        *_answers(workload, result, checked, sources),
    ]


def _is_alone(usage: Usage, cores: Cores) -> bool:
    """Whether the server's cores are its own, so that it waits for nobody else."""
    is_near = usage.cpu.database is not None or usage.cpu.upstream is not None
    others = ["load", "database"] if is_near else ["load"]
    server = set(cores.get("server", ()))
    return bool(server) and all(role in cores and server.isdisjoint(cores[role]) for role in others)


def _machine(usage: Usage, *, is_alone: bool) -> Iterator[Warning]:
    """Whether the machine did other things, or had too few cores."""
    pressure = usage.pressure
    if usage.other_share > _BUSY:
        yield Warning.of("busy", share=usage.other_share)
    if not is_alone and pressure.cpu_some and pressure.cpu_some > _WAITED:
        yield Warning.of("waiting", share=pressure.cpu_some)
    if pressure.steal and pressure.steal > _STOLEN:
        yield Warning.of("steal", share=pressure.steal)


def _generator(
    workload: Workload, level: float, result: LoadResult, usage: Usage
) -> Iterator[Warning]:
    """Whether measuring itself limited the figure."""
    seconds = result.seconds or 1
    busiest = result.busiest
    if busiest is None:
        busiest = usage.cpu.generator / seconds / workload.load.threads
    if busiest > _SATURATED:
        yield Warning.of("generator-busy", share=busiest)
    median = result.latency.p50 if result.latency else None
    counted = level if workload.load.model == "capacity" else median or 0
    if result.lag and result.lag > max(_LATE * counted, _PUNCTUAL):
        yield Warning.of("generator-late", ms=result.lag)
    if usage.cpu.observer / seconds > _OBSERVED:
        yield Warning.of("observer", share=usage.cpu.observer / seconds)


def _load(workload: Workload, level: float, result: LoadResult, usage: Usage) -> Iterator[Warning]:
    """Whether the load was there as it was meant to be."""
    load, machine = workload.load, usage.pressure.machine or 0
    if load.model == "closed" and load.requests is None:
        share = in_service(result) / level
        if result.requests and share < _PRESENT:
            yield Warning.of("absent-load", share=share)
    if load.model == "constant rate" and machine > _OVERLOADED:
        yield Warning.of("overload", share=machine)
    if result.clients and result.clients.starved:
        count, clients = result.clients.starved, result.clients.count
        yield Warning.of("starved", count=count, clients=clients, patience=PATIENCE)


def in_service(result: LoadResult) -> float:
    """The mean number of requests in service, by Little's law: the rate times the mean time.

    Requests that are in flight at the end have had half of their time on average.
    """
    in_flight = max(result.attempts - result.requests - result.errors.total, 0)
    mean = merged([result.histogram]).mean
    return (result.requests + in_flight / 2) * mean / (result.seconds or 1)


def _steadiness(
    workload: Workload, level: float, result: LoadResult, warmup: Warmup | None
) -> Iterator[Warning]:
    if warmup and warmup.judged and warmup.until_level is None:
        yield Warning.of("never-level", seconds=warmup.seconds)
    if workload.load.model == "capacity" or workload.load.requests is not None:
        return
    if change := drift(result.windows_of(workload.load, level)):
        direction = "higher" if change > 0 else "lower"
        yield Warning.of("unsteady", share=abs(change), direction=direction)


def _bottlenecks(
    workload: Workload, case: Case, result: LoadResult, usage: Usage, cores: Cores
) -> Iterator[Warning]:
    """Whether something else than the server's CPU time limited the figure."""
    cpu, seconds = usage.cpu, result.seconds or 1
    database, upstream = cpu.database or 0, (cpu.upstream or 0) / seconds
    if upstream > _SATURATED:
        yield Warning.of("upstream-busy", share=upstream)
    if cpu.server is None:
        return
    if database > cpu.server:
        yield Warning.of("database-busy", database=database, server=cpu.server)
    if (shared := _beside(usage, seconds, cores)) > _SATURATED:
        yield Warning.of("crowded", share=shared)
    own = cpu.server / seconds / case.workers
    if workload.load.model == "closed" and own > _SHARE:
        yield Warning.of("more-cores", cores=cpu.server / seconds, workers=case.workers)
    generator = cpu.generator / seconds / workload.load.threads
    busiest = max(own, database / seconds, upstream, generator)
    waited = (usage.pressure.cpu_some or 0) > _WAITED
    idle = max(busiest, usage.pressure.machine or 0) < _IDLE and not waited
    if workload.load.model == "closed" and idle:
        yield Warning.of("latency-bound", share=busiest)


def _beside(usage: Usage, seconds: float, cores: Cores) -> float:
    """The share of their cores that the load and the data sources use, if they share them."""
    shared = cores.get("load", ())
    if not shared or shared != cores.get("database"):
        return 0.0
    cpu = usage.cpu
    used = cpu.generator + cpu.observer + (cpu.database or 0) + (cpu.upstream or 0)
    return used / seconds / len(shared)


def _answers(
    workload: Workload, result: LoadResult, checked: Checked, sources: Sequence[Sources]
) -> Iterator[Warning]:
    sent = result.requests + result.errors.total
    if workload.samples and not checked.during:
        yield Warning.of("uncompared")
    for source in sources:
        # Failed requests may have used it, too.
        if source.counted * result.requests > (_TOO_MUCH * source.least + _SLACK) * sent:
            counts = source.model_dump(include={"counted", "least"})
            yield Warning.of("other-clients", source=source.name, **counts)
    if sent and result.errors.total / sent > _FAILED:
        yield Warning.of("failed", share=result.errors.total / sent)
