"""Measures one server once: fresh start, warm-up, load, CPU time and memory."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO

import psutil

from bench.generators import GeneratorError, LoadResult, LoadSpec, Workers, generate
from bench.generators.attackers import attacking, files_to_attack
from bench.generators.interface import MOST_CLIENTS, TransientError
from bench.generators.workers import own_address
from bench.measuring.cores import Cores, confined, pinned
from bench.measuring.gates import warnings
from bench.measuring.meter import Meter, Usage
from bench.measuring.pace import work
from bench.measuring.process_tree import Peak, Tree
from bench.measuring.remote_server import RemoteServer
from bench.measuring.responses import Sampler, body_sizes, require_bodies
from bench.measuring.schedule import Trial, settings_of
from bench.measuring.source_audit import SourceAudit, delete_notes
from bench.measuring.warmup import come_to_rest, warmed
from bench.records.measurement import Measurement, Memory, Warmup
from bench.records.store import now
from bench.workloads.workload import Workload
from conformance.subject import Subject
from harness.errors import TaskError
from harness.servers.running import Running, running
from harness.servers.settings import SETTINGS, URLS
from harness.services import Services
from harness.services.urls import without_secrets
from harness.system.ports import free_port, http_url, is_free
from harness.system.processes import ending
from harness.system.scratch import scratch

Server = Running | RemoteServer


@dataclass(frozen=True)
class RunContext:
    """What the trials of a run have in common."""

    workload: Workload
    services: Services
    files: Path  # The servers' `FILES_DIR`
    paths: Sequence[str]
    workers: Workers | None = None  # Machines that generate the load instead of this one
    cores: Cores = field(default_factory=dict)  # The cores of each role; empty if nothing is pinned
    elsewhere: RemoteServer | None = None  # The server, if the user runs it


def measure(trial: Trial, context: RunContext) -> Measurement:
    """Measure one trial."""
    with scratch("bench") as folder:
        return _Trial(trial, context, folder).measure()


class _Trial:
    def __init__(self, trial: Trial, context: RunContext, folder: Path) -> None:
        self.trial, self.context, self.folder = trial, context, folder
        self.workload = context.workload
        self.request_id = f"bench-{uuid.uuid4()}"
        asked = context.paths if self.workload.sources else []
        self.audit = SourceAudit(asked, context.services, self.request_id)

    def measure(self) -> Measurement:
        port = free_port()
        try:
            measurement = self._measure(port)
        except TaskError as error:
            if not isinstance(error, TransientError) and not is_free(port):
                raise TransientError(f"another program took port {port}: {error}") from error
            self.audit.require_undisturbed()
            raise
        finally:
            if self.workload.stored:
                delete_notes(self.context.services.mongodb_url, self.workload.stored)
        self.audit.require_undisturbed()
        return measurement

    def _measure(self, port: int) -> Measurement:
        started, log = now(), self.folder / "server.log"
        files = files_to_attack(self.folder) if self.trial.case.attack else self.context.files
        settings: dict[str, str] = {
            "HOST": "0.0.0.0" if self.context.workers else "127.0.0.1",  # noqa: S104
            "PORT": str(port),
            "FILES_DIR": str(files),
        }
        settings |= self.context.services.environment()
        settings |= settings_of(self.trial.target, self.trial.case)
        with log.open("w") as output, self._placed(settings, output) as (server, tree):
            rest = tree.pss()
            subject, context = Subject(server.host, server.port), self.context
            sampler = Sampler(subject, self.workload, context.files, context.paths)
            warm, warmup = self._warm(server, tree, sampler)
            pace = work() if tree.roots else None
            result, usage, peak = self._load(server, tree, sampler)
            environment = settings_in(server.environment)
            self._require_alive(server)
            sampler.recheck()
        require_bodies(result)
        # PostgreSQL adds a connection's counts when it closes: so read them after the server ends.
        counted = self.workload.load.requests is not None
        sources = self.audit.used(warm, result, self._sequences(), counted=counted)
        checked, trial, bodies = sampler.checked, self.trial, result.bodies
        return Measurement(
            **trial.place,
            model=self.workload.load.model,
            order=trial.order,
            started=started,
            command=result.command,
            settings=settings_of(trial.target, trial.case),
            environment=environment,
            affinity={role: list(cores) for role, cores in self.context.cores.items()},
            seconds=result.seconds,
            requests=result.requests,
            rate=result.rate_of(self.workload.load, trial.level),
            latency=result.latency,
            histogram=result.histogram,
            errors=result.errors,
            attempts=result.attempts,
            received=bodies.received if bodies else None,
            due=bodies.due if bodies else None,
            per_second=result.per_second,
            warmup=warmup,
            clients=result.clients,
            refused=usage.refused,
            steps=result.steps,
            cpu=usage.cpu,
            pressure=usage.pressure,
            work=pace,
            memory=Memory(rest=rest, peak=max(rest, peak.bytes)) if tree.roots else None,
            processes=peak.processes,
            threads=peak.threads,
            checked=checked,
            sources=sources,
            warnings=warnings(
                self.workload,
                trial.case,
                trial.level,
                result,
                usage,
                checked,
                sources,
                warmup,
                self.context.cores,
            ),
            output=result.output,
        )

    @contextmanager
    def _placed(self, settings: dict[str, str], output: IO[str]) -> Iterator[tuple[Server, Tree]]:
        """Start the server, with all programs on their cores; yields it and its processes.

        It has none here if it runs on another machine.
        """
        if self.context.elsewhere:
            yield self.context.elsewhere, self.context.elsewhere.tree
            return
        cores = self.context.cores
        with ExitStack() as stack:
            for tree in (self.audit.databases, self.audit.upstream):
                stack.enter_context(confined(tree, cores.get("database")))
            with pinned(cores.get("server")):
                server = stack.enter_context(running(self.trial.target, settings, output=output))
            stack.enter_context(pinned(cores.get("load")))
            yield server, Tree(psutil.Process(server.process.pid))

    def _require_alive(self, server: Server) -> None:
        if isinstance(server, RemoteServer):
            server.require_alive()
        elif (status := server.process.poll()) is not None:
            tail = (self.folder / "server.log").read_text(errors="replace").strip()[-500:]
            name = self.trial.target.name
            raise TaskError(f"{name} ended under load, {ending(status)}\n{tail}")

    def _warm(
        self, server: Server, tree: Tree, sampler: Sampler
    ) -> tuple[list[LoadResult], Warmup | None]:
        least = self.trial.warmup
        if not least:
            return [], None
        load, put = replace(self._spec(server), headers={}), partial(self._generate, server)
        rest = partial(come_to_rest, tree)
        results, warmup = warmed(load, put, rest, least, self.workload.warmup)
        sampler.settle()
        return results, warmup

    def _generate(self, server: Server, spec: LoadSpec) -> LoadResult:
        try:
            result = generate(spec, self.context.workers)
        except GeneratorError:
            self._require_alive(server)
            raise
        self._require_alive(server)
        return result

    def _spec(self, server: Server) -> LoadSpec:
        known = not self.workload.is_refused  # a problem may have a detail of any length
        sizes = body_sizes(self.context.paths, self.context.files, self.workload.stored)
        counted = "upstream" in self.workload.sources
        return LoadSpec(
            url=self._url(server),
            paths=self.context.paths,
            random=self.workload.images is not None,
            load=self.workload.load,
            level=self.trial.level,
            headers={"X-Request-Id": self.request_id} if counted else {},
            folder=self.folder,
            sizes=sizes if known else (),
            body=self.workload.body,
            statuses=self.workload.statuses,
            seed=self.trial.repeat,
            keep_alive=self.trial.target.deployment.keep_alive,
        )

    def _url(self, server: Server) -> str:
        """Its address for the machines that generate the load."""
        workers = self.context.workers
        if workers and not isinstance(server, RemoteServer):
            return http_url(own_address(workers.hosts[0]), server.port)
        return server.url

    def _load(self, server: Server, tree: Tree, sampler: Sampler) -> tuple[LoadResult, Usage, Peak]:
        peak = Peak(tree)
        with (
            attacking(self.trial.case.attack, server.port, self.folder) as attackers,
            peak.watched(),
            sampler.sampling(),
        ):
            spec = self._spec(server)
            trees = (tree, self.audit.databases, self.audit.upstream, Tree(*attackers))
            timed = None if spec.load.model == "capacity" else spec.duration
            meter = Meter(*trees, timed, drops_rest=spec.load.model == "closed")
            result = self._generate(server, spec)
            usage = meter.usage(result)
        peak.look()
        return result, usage, peak

    def _sequences(self) -> int:
        """How many times the paths are requested side by side, at the most."""
        load, level, workers = self.workload.load, self.trial.level, self.context.workers
        match load.model:
            case "closed":
                return max(round(level), load.threads)
            case "connection rate":
                return round(level * (load.duration_of(level) or 0))
            case _:
                return MOST_CLIENTS * (len(workers.hosts) if workers else 1)


def settings_in(environment: Mapping[str, str]) -> dict[str, str]:
    """The contract's settings, to be published; other variables and URLs may hold secrets."""
    return {
        name: without_secrets(environment[name]) if name in URLS else environment[name]
        for name in SETTINGS
        if name in environment
    }
