"""Measures one server once: fresh start, warm-up, load, CPU time and memory."""

import math
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

import psutil

from bench.affinity import Cores, confined, pinned
from bench.answers import Contract, Sampler, WrongAnswer
from bench.disturbed import Disturbed
from bench.generators import GeneratorError, LoadResult, LoadSpec, generate
from bench.generators.locust import own_address
from bench.plan import Turn
from bench.pressure import Meter
from bench.processes import Peak, Tree, listening_at
from bench.result import Checked, Cpu, Measurement, Memory, Sources, now
from bench.sources import Source, sources_of
from bench.warnings import Usage, warnings
from bench.workload import Workload
from conformance.subject import Subject
from harness.errors import TaskError
from harness.ports import free_port, is_free
from harness.processes import ending
from harness.scratch import scratch
from harness.server import Running, running
from harness.services import Services

_WARM_CONNECTIONS = 50
"""Connections of the warm-up before a search for the capacity, which has no level of its own."""
_FLUSH = 5.0
"""Seconds that a data source may take to count its last operations."""


@dataclass(frozen=True)
class RunContext:
    """What the turns of a run have in common."""

    workload: Workload
    services: Services
    files: Path
    """The servers' ``FILES_DIR``."""
    paths: Sequence[str]
    workers: tuple[str, ...] = ()
    """Machines that generate the load instead of this one (Locust only)."""
    cores: Cores = field(default_factory=dict)
    """The cores of each role; empty if nothing is pinned."""
    own_databases: bool = False
    """Whether the databases are the user's, which are never pinned."""


def measure(turn: Turn, context: RunContext) -> Measurement:
    """Measure one turn."""
    with scratch("bench") as folder:
        return _Turn(turn, context, folder).measure()


class _Turn:
    def __init__(self, turn: Turn, context: RunContext, folder: Path) -> None:
        self.turn, self.context, self.folder = turn, context, folder
        self.workload = context.workload
        self.request_id = f"bench-{uuid.uuid4()}"
        self.sources = sources_of(context.paths, context.services, self.request_id)
        self.databases = self._programs(one for one in self.sources if one.name != "upstream")
        self.upstream = self._programs(one for one in self.sources if one.name == "upstream")

    @staticmethod
    def _programs(sources: Iterator[Source]) -> Tree:
        return listening_at(source.url for source in sources)

    def measure(self) -> Measurement:
        before = [source.count() for source in self.sources]
        port = free_port()
        try:
            measurement = self._measure(port, before)
        except TaskError as error:
            if not isinstance(error, Disturbed) and not is_free(port):
                raise Disturbed(f"another program took port {port}: {error}") from error
            self._require_sources(before)
            raise
        self._require_sources(before)
        return measurement

    def _require_sources(self, before: Sequence[int]) -> None:
        """Raise if a data source ended in the meantime: then no failure is the server's."""
        for source, count in zip(self.sources, before, strict=True):
            if source.count() < count:
                raise Disturbed(f"{source.name} was restarted during the measurement")
        if not all(root.is_running() for tree in self._data for root in tree.roots):
            raise Disturbed("a data source ended during the measurement")

    @property
    def _data(self) -> tuple[Tree, Tree]:
        return self.databases, self.upstream

    def _measure(self, port: int, before: Sequence[int]) -> Measurement:
        started, log = now(), self.folder / "server.log"
        settings: dict[str, str] = {
            "HOST": "0.0.0.0" if self.context.workers else "127.0.0.1",  # noqa: S104
            "PORT": str(port),
            "FILES_DIR": str(self.context.files),
        }
        settings |= self.context.services.environment()
        settings |= {str(name): value for name, value in self.turn.case.settings.items()}
        with log.open("w") as output, self._placed(settings, output) as server:
            tree = Tree(psutil.Process(server.process.pid))
            rest = tree.pss()
            contract = Contract(self.context.files)
            sampler = Sampler(Subject(server.host, server.port), contract, self.context.paths)
            warm = self._warm(server, sampler)
            result, usage, peak = self._load(server, tree, sampler)
            environment = {
                name: without_password(value) for name, value in server.environment.items()
            }
            self._require_alive(server)
            sampler.recheck()
        # PostgreSQL adds a connection's counts when it closes: so read them after the server ends.
        sources = self._used(before, warm, result)
        memory = Memory(rest=rest, peak=peak.bytes)
        return self._measurement(
            started, environment, result, usage, sampler, memory, peak, sources
        )

    @contextmanager
    def _placed(self, settings: dict[str, str], output: IO[str]) -> Iterator[Running]:
        """Start the server, with all programs on their cores."""
        cores = self.context.cores
        with ExitStack() as stack:
            if not self.context.own_databases:
                for tree in self._data:
                    stack.enter_context(confined(tree, cores.get("database")))
            with pinned(cores.get("server")):
                server = stack.enter_context(running(self.turn.target, settings, output=output))
            stack.enter_context(pinned(cores.get("load")))
            yield server

    def _require_alive(self, server: Running) -> None:
        if (status := server.process.poll()) is not None:
            tail = (self.folder / "server.log").read_text(errors="replace").strip()[-500:]
            name = self.turn.target.name
            raise TaskError(f"{name} ended under load, {ending(status)}\n{tail}")

    def _warm(self, server: Running, sampler: Sampler) -> LoadResult | None:
        """Put the same load on the server as in the measurement, for the time of the warm-up."""
        if not self.turn.warmup:
            return None
        spec = replace(
            self._spec(server), duration=max(self.turn.warmup, 1), requests=None, headers={}
        )
        if spec.model == "capacity":
            spec = replace(spec, model="closed", level=_WARM_CONNECTIONS)
        result = self._generate(server, spec)
        sampler.settle()
        return result

    def _generate(self, server: Running, spec: LoadSpec) -> LoadResult:
        try:
            result = generate(spec, self.context.workers)
        except GeneratorError as error:
            self._require_alive(server)
            raise Disturbed(str(error)) from error
        self._require_alive(server)
        return result

    def _spec(self, server: Running) -> LoadSpec:
        load = self.workload.load
        upstream = any(source.name == "upstream" for source in self.sources)
        workers = self.context.workers
        return LoadSpec(
            url=f"http://{own_address(workers[0])}:{server.port}" if workers else server.url,
            paths=self.context.paths,
            random=self.workload.images is not None,
            model=load.model,
            level=self.turn.level,
            duration=load.duration_of(self.turn.level),
            requests=load.requests,
            calls=load.calls,
            timeout=load.timeout,
            threads=load.threads,
            headers={"X-Request-Id": self.request_id} if upstream else {},
            folder=self.folder,
        )

    def _load(
        self, server: Running, tree: Tree, sampler: Sampler
    ) -> tuple[LoadResult, Usage, Peak]:
        peak = Peak(tree)
        with ExitStack() as observers:
            observers.enter_context(peak.watched())
            observers.enter_context(sampler.sampling(self.workload.samples))
            trees = (tree, *self._data)
            before = [one.cpu() for one in trees]
            meter = Meter()
            result = self._generate(server, self._spec(server))
            machine = meter.use()
            own, database, upstream = (
                one.cpu() - used for one, used in zip(trees, before, strict=True)
            )
        peak.look()
        usage = Usage(
            server=own,
            database=database if self.databases.roots else None,
            upstream=upstream if self.upstream.roots else None,
            generator=result.cpu,
            observer=result.observer,
            machine=machine.seconds,
            pressure=machine.pressure,
        )
        return result, usage, peak

    def _used(
        self, before: Sequence[int], warm: LoadResult | None, result: LoadResult
    ) -> list[Sources]:
        """What the data sources counted; raises if some responses did not use them."""
        found = []
        for source, count in zip(self.sources, before, strict=True):
            # The upstream counts by request id, which the warm-up does not send.
            loads = [result] if source.name == "upstream" or not warm else [warm, result]
            exactly = source.name == "upstream" and not result.errors.total
            used = Sources(
                name=source.name,
                counted=source.count() - count,
                least=sum(self._least(source, one) for one in loads),
                exactly=exactly and self.workload.load.requests is not None,
            )
            used = self._flushed(source, count, used)
            if not used.agrees:
                answered = sum(one.requests for one in loads)
                needed = f"{'' if used.exactly else 'at least '}{used.least}"
                raise WrongAnswer(
                    f"{source.name} counted {used.counted} for {answered} responses, which need "
                    f"{needed}: some responses did not use it"
                )
            found.append(used)
        return found

    def _least(self, source: Source, result: LoadResult) -> int:
        load, level = self.workload.load, self.turn.level
        match load.model:
            case "closed":
                sequences = max(level, load.threads)
            case "connection rate":
                sequences = level * (load.duration_of(level) or 0)
            case _:
                sequences = load.threads * (len(self.context.workers) or 1)
        ended = result.requests + result.errors.total
        return source.least(ended, result.requests, math.ceil(sequences))

    @staticmethod
    def _flushed(source: Source, before: int, used: Sources) -> Sources:
        """The same after the source has had time to count its last operations."""
        deadline = time.monotonic() + _FLUSH
        while used.counted < used.least and time.monotonic() < deadline:
            time.sleep(0.1)
            used = used.model_copy(update={"counted": source.count() - before})
        return used

    def _measurement(
        self,
        started: str,
        environment: dict[str, str],
        result: LoadResult,
        usage: Usage,
        sampler: Sampler,
        memory: Memory,
        peak: Peak,
        sources: list[Sources],
    ) -> Measurement:
        turn = self.turn
        return Measurement(
            target=turn.target.name,
            case=turn.case.name,
            model=self.workload.load.model,
            level=turn.level,
            repeat=turn.repeat,
            started=started,
            command=result.command,
            settings={str(name): value for name, value in turn.case.settings.items()},
            environment=environment,
            seconds=result.seconds,
            requests=result.requests,
            rate=result.requests / result.seconds if result.seconds else 0.0,
            latency=result.latency,
            errors=result.errors,
            cpu=Cpu(
                server=usage.server,
                database=usage.database,
                upstream=usage.upstream,
                generator=usage.generator,
                observer=usage.observer,
                other=usage.other,
            ),
            pressure=usage.pressure,
            memory=memory,
            processes=peak.processes,
            threads=peak.threads,
            affinity={role: list(cores) for role, cores in self.context.cores.items()},
            order=turn.order,
            checked=Checked(
                during=sampler.during, after=sampler.after, unanswered=sampler.unanswered
            ),
            sources=sources,
            warnings=warnings(result, usage, sampler, sources, self.workload),
            output=result.output,
        )


def without_password(value: str) -> str:
    """Hide the password in a setting that is a URL."""
    return re.sub(r"(?<=://)([^:/@]*):[^@/]*@", r"\1:…@", value)
