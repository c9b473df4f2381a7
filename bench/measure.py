"""Measures one server once: fresh start, warm-up, load, CPU time and memory."""

import re
import time
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from bench.answers import Contract, Sampler, WrongAnswer
from bench.bodies import body_sizes, require_bodies
from bench.generators import LoadResult, LoadSpec, generate
from bench.generators.locust import own_address
from bench.plan import Turn
from bench.processes import Busy, Peak, Tree, listening_at
from bench.result import Checked, Cpu, Measurement, Memory, Sources, now
from bench.sources import counters
from bench.warnings import Usage, warnings
from bench.workload import Workload
from conformance.subject import Subject
from harness.errors import TaskError
from harness.ports import free_port
from harness.processes import ending
from harness.scratch import scratch
from harness.server import Running, running
from harness.services import Services

_WARM_CONNECTIONS = 16
_SETTLE = 0.3
"""Seconds after the warm-up for its last requests to end."""


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


def measure(turn: Turn, context: RunContext) -> Measurement:
    """Measure one turn."""
    with scratch("bench") as folder:
        return _Turn(turn, context, folder).measure()


class _Turn:
    def __init__(self, turn: Turn, context: RunContext, folder: Path) -> None:
        self.turn, self.context, self.folder = turn, context, folder
        self.workload = context.workload
        self.request_id = f"bench-{uuid.uuid4()}"
        self.counters = counters(context.paths, context.services, self.request_id)
        self.databases = listening_at(
            counter.url for counter in self.counters if counter.name != "upstream"
        )

    def measure(self) -> Measurement:
        started, log = now(), self.folder / "server.log"
        settings: dict[str, str] = {
            "HOST": "0.0.0.0" if self.context.workers else "127.0.0.1",  # noqa: S104
            "PORT": str(free_port()),
            "FILES_DIR": str(self.context.files),
        }
        settings |= self.context.services.environment()
        settings |= {str(name): value for name, value in self.turn.case.settings.items()}
        before = [counter.read() for counter in self.counters]
        with log.open("w") as output, running(self.turn.target, settings, output=output) as server:
            tree = Tree(psutil.Process(server.process.pid))
            rest = tree.pss()
            warm = self._warm(server)
            result, usage, sampler = self._load(server, tree)
            environment = {
                name: without_password(value) for name, value in server.environment.items()
            }
            if (status := server.process.poll()) is not None:
                tail = log.read_text(errors="replace").strip()[-500:]
                name = self.turn.target.name
                raise TaskError(f"{name} ended under load, {ending(status)}\n{tail}")
            sampler.recheck()
        require_bodies(result)
        # PostgreSQL adds a connection's counts when it closes: so read them after the server ends.
        answered = result.requests + result.others + warm
        sources = self._sources(before, answered, result)
        return self._measurement(started, environment, result, usage, sampler, rest, sources)

    def _warm(self, server: Running) -> int:
        """Warm the server up; return the number of answered requests."""
        if not self.turn.warmup:
            return 0
        spec = self._spec(server)
        level = spec.level if spec.model == "closed" else _WARM_CONNECTIONS
        result = generate(
            replace(
                spec,
                model="closed",
                level=min(level, _WARM_CONNECTIONS),
                duration=max(self.turn.warmup, 1),
                requests=None,
                threads=1,
                headers={},
            )
        )
        time.sleep(_SETTLE)
        return result.requests

    def _spec(self, server: Running) -> LoadSpec:
        load = self.workload.load
        upstream = any(counter.name == "upstream" for counter in self.counters)
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
            sizes=body_sizes(self.context.paths, self.context.files),
            generator=load.generator,
            seed=self.turn.repeat,
        )

    def _load(self, server: Running, tree: Tree) -> tuple[LoadResult, Usage, Sampler]:
        peak = Peak(tree)
        contract = Contract(self.context.files)
        sampler = Sampler(Subject(server.host, server.port), contract, self.context.paths)
        with ExitStack() as observers:
            observers.enter_context(peak.watched())
            observers.enter_context(sampler.sampling(self.workload.samples))
            server_cpu, database_cpu = tree.cpu(), self.databases.cpu()
            busy = Busy()
            result = generate(self._spec(server), self.context.workers)
            machine_cpu, machine_all = busy.seconds()
            usage = Usage(
                server=tree.cpu() - server_cpu,
                database=self.databases.cpu() - database_cpu if self.databases.roots else None,
                generator=result.cpu,
                observer=result.observer,
                machine=machine_cpu,
                machine_all=machine_all,
                peak=0,
            )
        return result, usage.with_peak(max(peak.bytes, tree.pss())), sampler

    def _sources(self, before: Sequence[int], requests: int, result: LoadResult) -> list[Sources]:
        load, found = self.workload.load, []
        for counter, count in zip(self.counters, before, strict=True):
            exactly = counter.name == "upstream" and not result.errors.total
            counted = result.requests if counter.name == "upstream" else requests
            least = counter.least(self.context.paths, counted, load.threads)
            source = Sources(
                name=counter.name,
                counted=counter.read() - count,
                least=least,
                exactly=exactly and load.requests is not None,
            )
            if not source.agrees:
                needed = f"{'' if source.exactly else 'at least '}{least}"
                raise WrongAnswer(
                    f"{counter.name} counted {source.counted} for {counted} responses, which need "
                    f"{needed}: some responses did not use it"
                )
            found.append(source)
        return found

    def _measurement(
        self,
        started: str,
        environment: dict[str, str],
        result: LoadResult,
        usage: Usage,
        sampler: Sampler,
        rest: int,
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
            settings={str(name): value for name, value in turn.case.settings.items()},
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
                server=usage.server * result.share,
                database=None if usage.database is None else usage.database * result.share,
                generator=usage.generator * result.share,
                observer=usage.observer,
            ),
            memory=Memory(rest=rest, peak=usage.peak),
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


def without_password(value: str) -> str:
    """Hide the password in a setting that is a URL."""
    return re.sub(r"(?<=://)([^:/@]*):[^@/]*@", r"\1:…@", value)
