"""Measures one server, once: a fresh start, warm-up, the load, and what all of it used."""

import re
import time
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from bench.answers import Contract, Sampler, WrongAnswer
from bench.generators import Order, Outcome, generate
from bench.generators.locust import own_address
from bench.plan import Turn
from bench.processes import Busy, Peak, Tree, listening_at
from bench.result import Checked, Cpu, Measurement, Memory, Sources, now
from bench.sources import counters
from bench.warnings import Use, warnings
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
"""Seconds after the warm-up in which what it left in flight ends."""


@dataclass(frozen=True)
class Around:
    """What all turns of a run share."""

    workload: Workload
    services: Services
    files: Path
    """What the servers have as ``FILES_DIR``."""
    paths: Sequence[str]
    workers: tuple[str, ...] = ()
    """Machines that put the load on, in place of this one (Locust alone)."""


def measure(turn: Turn, around: Around) -> Measurement:
    """Take one turn."""
    with scratch("bench") as folder:
        return _Turn(turn, around, folder).measure()


class _Turn:
    def __init__(self, turn: Turn, around: Around, folder: Path) -> None:
        self.turn, self.around, self.folder = turn, around, folder
        self.workload = around.workload
        self.request_id = f"bench-{uuid.uuid4()}"
        self.counters = counters(around.paths, around.services, self.request_id)
        self.databases = listening_at(
            counter.url for counter in self.counters if counter.name != "upstream"
        )

    def measure(self) -> Measurement:
        started, log = now(), self.folder / "server.log"
        settings: dict[str, str] = {
            "HOST": "0.0.0.0" if self.around.workers else "127.0.0.1",  # noqa: S104
            "PORT": str(free_port()),
            "FILES_DIR": str(self.around.files),
        }
        settings |= self.around.services.environment()
        settings |= {str(name): value for name, value in self.turn.case.settings.items()}
        before = [counter.read() for counter in self.counters]
        with log.open("w") as output, running(self.turn.target, settings, output=output) as server:
            tree = Tree(psutil.Process(server.process.pid))
            rest = tree.pss()
            warm = self._warm(server)
            outcome, use, sampler = self._load(server, tree)
            environment = {
                name: without_password(value) for name, value in server.environment.items()
            }
            if (status := server.process.poll()) is not None:
                tail = log.read_text(errors="replace").strip()[-500:]
                name = self.turn.target.name
                raise TaskError(f"{name} ended under the load, {ending(status)}\n{tail}")
            sampler.recheck()
        # PostgreSQL adds up what a connection did when that ends: so after the server's end.
        sources = self._sources(before, outcome.requests + warm, outcome)
        return self._measurement(started, environment, outcome, use, sampler, rest, sources)

    def _warm(self, server: Running) -> int:
        """Load before it counts; gives the requests that were answered."""
        if not self.turn.warmup:
            return 0
        order = self._order(server)
        level = order.level if order.model == "closed" else _WARM_CONNECTIONS
        outcome = generate(
            replace(
                order,
                model="closed",
                level=min(level, _WARM_CONNECTIONS),
                duration=max(self.turn.warmup, 1),
                requests=None,
                threads=1,
                headers={},
            )
        )
        time.sleep(_SETTLE)
        return outcome.requests

    def _order(self, server: Running) -> Order:
        load = self.workload.load
        upstream = any(counter.name == "upstream" for counter in self.counters)
        workers = self.around.workers
        return Order(
            url=f"http://{own_address(workers[0])}:{server.port}" if workers else server.url,
            paths=self.around.paths,
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

    def _load(self, server: Running, tree: Tree) -> tuple[Outcome, Use, Sampler]:
        peak = Peak(tree)
        contract = Contract(self.around.files)
        sampler = Sampler(Subject(server.host, server.port), contract, self.around.paths)
        with ExitStack() as watching:
            watching.enter_context(peak.watched())
            watching.enter_context(sampler.sampling(self.workload.samples))
            server_cpu, database_cpu = tree.cpu(), self.databases.cpu()
            busy = Busy()
            outcome = generate(self._order(server), self.around.workers)
            machine_cpu, machine_all = busy.seconds()
            use = Use(
                server=tree.cpu() - server_cpu,
                database=self.databases.cpu() - database_cpu if self.databases.roots else None,
                generator=outcome.cpu,
                observer=outcome.observer,
                machine=machine_cpu,
                machine_all=machine_all,
                peak=0,
            )
        return outcome, use.with_peak(max(peak.bytes, tree.pss())), sampler

    def _sources(self, before: Sequence[int], requests: int, outcome: Outcome) -> list[Sources]:
        load, found = self.workload.load, []
        for counter, count in zip(self.counters, before, strict=True):
            exactly = counter.name == "upstream" and not outcome.errors.total
            counted = outcome.requests if counter.name == "upstream" else requests
            least = counter.least(self.around.paths, counted, load.threads)
            source = Sources(
                name=counter.name,
                counted=counter.read() - count,
                least=least,
                exactly=exactly and load.requests is not None,
            )
            if not source.agrees:
                wanted = f"{'' if source.exactly else 'at least '}{least}"
                raise WrongAnswer(
                    f"{counter.name} counted {source.counted} for {counted} answers, which need "
                    f"{wanted}: answers were given without it"
                )
            found.append(source)
        return found

    def _measurement(
        self,
        started: str,
        environment: dict[str, str],
        outcome: Outcome,
        use: Use,
        sampler: Sampler,
        rest: int,
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
            command=outcome.command,
            settings={str(name): value for name, value in turn.case.settings.items()},
            environment=environment,
            seconds=outcome.seconds,
            requests=outcome.requests,
            rate=outcome.requests / outcome.seconds if outcome.seconds else 0.0,
            latency=outcome.latency,
            errors=outcome.errors,
            cpu=Cpu(
                server=use.server,
                database=use.database,
                generator=use.generator,
                observer=use.observer,
            ),
            memory=Memory(rest=rest, peak=use.peak),
            checked=Checked(
                during=sampler.during, after=sampler.after, unanswered=sampler.unanswered
            ),
            sources=sources,
            warnings=warnings(outcome, use, sampler, sources, self.workload),
            output=outcome.output,
        )


def without_password(value: str) -> str:
    """A setting without the password of a URL."""
    return re.sub(r"(?<=://)([^:/@]*):[^@/]*@", r"\1:…@", value)
