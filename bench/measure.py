"""Measures one server once: fresh start, warm-up, load, CPU time and memory."""

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

import psutil

from bench.affinity import Cores, confined, pinned
from bench.answers import Contract, Sampler
from bench.bodies import body_sizes, require_bodies
from bench.disturbed import Disturbed
from bench.elsewhere import Elsewhere
from bench.generators import GeneratorError, LoadResult, LoadSpec, generate
from bench.generators.locust import own_address
from bench.ledger import Ledger
from bench.plan import Turn, settings_of
from bench.pressure import Meter
from bench.processes import Peak, Tree
from bench.result import Checked, Cpu, Measurement, Memory, Sources, now
from bench.warnings import Usage, warnings
from bench.workload import Workload
from conformance.subject import Subject
from harness.errors import TaskError
from harness.servers.running import Running, running
from harness.servers.settings import SETTINGS, URLS
from harness.services import Services
from harness.services.urls import without_secrets
from harness.system.ports import free_port, http_url, is_free
from harness.system.processes import ending
from harness.system.scratch import scratch

Server = Running | Elsewhere

_WARM_CONNECTIONS = 50
"""Connections of the warm-up before a search for the capacity, which has no level of its own."""


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
    elsewhere: Elsewhere | None = None
    """The server, if the user runs it."""


def measure(turn: Turn, context: RunContext) -> Measurement:
    """Measure one turn."""
    with scratch("bench") as folder:
        return _Turn(turn, context, folder).measure()


class _Turn:
    def __init__(self, turn: Turn, context: RunContext, folder: Path) -> None:
        self.turn, self.context, self.folder = turn, context, folder
        self.workload = context.workload
        self.request_id = f"bench-{uuid.uuid4()}"
        self.ledger = Ledger(context.paths, context.services, self.request_id)

    def measure(self) -> Measurement:
        port = free_port()
        try:
            measurement = self._measure(port)
        except TaskError as error:
            if not isinstance(error, Disturbed) and not is_free(port):
                raise Disturbed(f"another program took port {port}: {error}") from error
            self.ledger.require_undisturbed()
            raise
        self.ledger.require_undisturbed()
        return measurement

    def _measure(self, port: int) -> Measurement:
        started, log = now(), self.folder / "server.log"
        settings: dict[str, str] = {
            "HOST": "0.0.0.0" if self.context.workers else "127.0.0.1",  # noqa: S104
            "PORT": str(port),
            "FILES_DIR": str(self.context.files),
        }
        settings |= self.context.services.environment()
        settings |= settings_of(self.turn.target, self.turn.case)
        with log.open("w") as output, self._placed(settings, output) as server:
            tree = self._program(server)
            rest = tree.pss()
            contract = Contract(self.context.files)
            sampler = Sampler(Subject(server.host, server.port), contract, self.context.paths)
            warm = self._warm(server, sampler)
            result, usage, peak = self._load(server, tree, sampler)
            environment = settings_in(server.environment)
            self._require_alive(server)
            sampler.recheck()
        require_bodies(result)
        # PostgreSQL adds a connection's counts when it closes: so read them after the server ends.
        counted = self.workload.load.requests is not None
        sources = self.ledger.used(warm, result, self._sequences(), counted=counted)
        memory = Memory(rest=rest, peak=max(rest, peak.bytes)) if tree.roots else None
        return self._measurement(
            started, environment, result, usage, sampler, memory, peak, sources
        )

    @contextmanager
    def _placed(self, settings: dict[str, str], output: IO[str]) -> Iterator[Server]:
        """Start the server, with all programs on their cores."""
        if self.context.elsewhere:
            yield self.context.elsewhere
            return
        cores = self.context.cores
        with ExitStack() as stack:
            if not self.context.own_databases:
                for tree in (self.ledger.databases, self.ledger.upstream):
                    stack.enter_context(confined(tree, cores.get("database")))
            with pinned(cores.get("server")):
                server = stack.enter_context(running(self.turn.target, settings, output=output))
            stack.enter_context(pinned(cores.get("load")))
            yield server

    @staticmethod
    def _program(server: Server) -> Tree:
        if isinstance(server, Elsewhere):
            return server.tree
        return Tree(psutil.Process(server.process.pid))

    def _require_alive(self, server: Server) -> None:
        if isinstance(server, Elsewhere):
            server.require_alive()
        elif (status := server.process.poll()) is not None:
            tail = (self.folder / "server.log").read_text(errors="replace").strip()[-500:]
            name = self.turn.target.name
            raise TaskError(f"{name} ended under load, {ending(status)}\n{tail}")

    def _warm(self, server: Server, sampler: Sampler) -> LoadResult | None:
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

    def _generate(self, server: Server, spec: LoadSpec) -> LoadResult:
        try:
            result = generate(spec, self.context.workers)
        except GeneratorError as error:
            self._require_alive(server)
            raise Disturbed(str(error)) from error
        self._require_alive(server)
        return result

    def _spec(self, server: Server) -> LoadSpec:
        load = self.workload.load
        return LoadSpec(
            url=self._url(server),
            paths=self.context.paths,
            random=self.workload.images is not None,
            model=load.model,
            level=self.turn.level,
            duration=load.duration_of(self.turn.level),
            requests=load.requests,
            calls=load.calls,
            timeout=load.timeout,
            threads=load.threads,
            headers={"X-Request-Id": self.request_id} if "upstream" in self.ledger.names else {},
            folder=self.folder,
            sizes=body_sizes(self.context.paths, self.context.files),
            seed=self.turn.repeat,
        )

    def _url(self, server: Server) -> str:
        """Its address for the machines that generate the load."""
        workers = self.context.workers
        if workers and not isinstance(server, Elsewhere):
            return http_url(own_address(workers[0]), server.port)
        return server.url

    def _load(self, server: Server, tree: Tree, sampler: Sampler) -> tuple[LoadResult, Usage, Peak]:
        peak = Peak(tree)
        with ExitStack() as observers:
            observers.enter_context(peak.watched())
            observers.enter_context(sampler.sampling(self.workload.samples))
            databases, upstreams = self.ledger.databases, self.ledger.upstream
            trees = (tree, databases, upstreams)
            before = [one.cpu() for one in trees]
            meter = Meter()
            own_before = time.process_time()
            result = self._generate(server, self._spec(server))
            machine, program = meter.use(), time.process_time() - own_before
            own, database, upstream = (
                one.cpu() - used for one, used in zip(trees, before, strict=True)
            )
        peak.look()
        share = result.share
        # Locust takes seconds to start and to end, in which this program observes too.
        loaded = sum(step.seconds for step in result.steps) or result.seconds
        usage = Usage(
            server=own * share if tree.roots else None,
            database=database * share if databases.roots else None,
            upstream=upstream * share if upstreams.roots else None,
            generator=result.cpu * share,
            observer=result.observer * min(loaded / machine.elapsed, 1),
            program=program * share,
            machine=machine.seconds * share,
            pressure=machine.pressure,
            away=result.workers_cpu * share,
        )
        return result, usage, peak

    def _sequences(self) -> int:
        """How many times the paths are requested side by side, at the most."""
        load, level = self.workload.load, self.turn.level
        match load.model:
            case "closed":
                return max(round(level), load.threads)
            case "connection rate":
                return round(level * (load.duration_of(level) or 0))
            case _:
                own = load.threads * (len(self.context.workers) or 1)
                return max(own, _WARM_CONNECTIONS)

    def _measurement(
        self,
        started: str,
        environment: dict[str, str],
        result: LoadResult,
        usage: Usage,
        sampler: Sampler,
        memory: Memory | None,
        peak: Peak,
        sources: list[Sources],
    ) -> Measurement:
        turn, bodies = self.turn, result.bodies
        rate = result.requests / result.seconds if result.seconds else 0.0
        return Measurement(
            target=turn.target.name,
            case=turn.case.name,
            model=self.workload.load.model,
            level=turn.level,
            repeat=turn.repeat,
            started=started,
            command=result.command,
            settings=settings_of(turn.target, turn.case),
            environment=environment,
            seconds=result.seconds,
            requests=result.requests,
            rate=rate if result.rate is None else result.rate,
            latency=result.latency,
            histogram=result.histogram,
            errors=result.errors,
            attempts=result.attempts,
            received=bodies.received if bodies else None,
            due=bodies.due if bodies else None,
            per_second=result.per_second,
            steps=result.steps,
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
            warnings=[
                *result.warnings,
                *warnings(result, usage, sampler, sources, self.workload),
            ],
            output=result.output,
        )


def settings_in(environment: Mapping[str, str]) -> dict[str, str]:
    """The contract's settings, to be published; other variables and URLs may hold secrets."""
    return {
        name: without_secrets(environment[name]) if name in URLS else environment[name]
        for name in SETTINGS
        if name in environment
    }
