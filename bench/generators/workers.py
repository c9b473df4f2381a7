"""Other machines that generate a load: each puts a part of it on the server, by h2load.

A machine keeps one connection to this one for the whole run, over which it gets its parts and sends
what it measured, all as JSON. Both sides prove that they have the run's token, and no code is sent
(https://docs.python.org/3/library/multiprocessing.html#multiprocessing-auth-keys).
"""

import secrets
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import zip_longest
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener

from pydantic import TypeAdapter

from bench.generators import h2load
from bench.generators.interface import Bodies, GeneratorError, LoadResult, LoadSpec
from bench.records.histogram import merged
from bench.records.measurement import Clients, Errors
from harness.console import say
from harness.errors import TaskError, UsageError
from harness.system.ports import is_free
from harness.system.scratch import scratch

PORT = 5557
VARIABLE = "BENCH_TOKEN"  # Of the environment, with the run's token

_SPEC = TypeAdapter(LoadSpec)
_ANSWER: TypeAdapter[LoadResult | str] = TypeAdapter(LoadResult | str)  # Or the error


class Workers:
    """The machines that generate the load of a run."""

    def __init__(self, hosts: Sequence[str], links: Sequence[Connection]) -> None:
        self.hosts, self._links = hosts, links

    def generate(self, spec: LoadSpec) -> LoadResult:
        """Put a load on a server."""
        used = time.process_time()
        parts = divided(spec, len(self._links))
        busy = self._links[: len(parts)]
        try:
            for link, part in zip(busy, parts, strict=True):
                link.send_bytes(_SPEC.dump_json(part))
            answers = [_ANSWER.validate_json(link.recv_bytes()) for link in busy]
        except (EOFError, OSError) as error:
            raise UsageError(
                "a machine that generates the load was lost: `./just bench --resume last` goes on"
            ) from error
        if errors := [one for one in answers if isinstance(one, str)]:
            raise GeneratorError("; ".join(errors))
        results = [one for one in answers if isinstance(one, LoadResult)]
        return replace(summed(results, spec.load.threads), observer=time.process_time() - used)


@contextmanager
def connected(hosts: Sequence[str], identity: str) -> Iterator[Workers | None]:
    """Print the command that each machine has to run, and wait for all of them; None without any.

    ``identity`` is what their versions have to be, as this machine's are.
    """
    if not hosts:
        yield None
        return
    if not is_free(PORT):
        raise UsageError(f"port {PORT} is in use, and needed for other machines' connections")
    token = secrets.token_hex(16)
    with Listener(("", PORT), authkey=token.encode()) as listener, ExitStack() as stack:
        for host in hosts:
            command = f"{VARIABLE}={token} ./just worker {own_address(host)}"
            say(f"run this on {host}, in a clone of this commit: {command}")
        links: list[Connection] = []
        while len(links) < len(hosts):
            with suppress(AuthenticationError, EOFError, OSError):
                link = stack.enter_context(listener.accept())
                if (other := link.recv_bytes().decode()) != identity:
                    raise UsageError(f"a machine has {other}, and this one {identity}")
                links.append(link)
        yield Workers(hosts, links)


def work(host: str, token: str, identity: str) -> None:
    """Generate the loads that ``host`` asks for, until its run ends."""
    with Client((host, PORT), authkey=token.encode()) as link, suppress(EOFError):
        link.send_bytes(identity.encode())
        while True:
            spec = _SPEC.validate_json(link.recv_bytes())
            with scratch("load") as folder:
                answer: LoadResult | str
                try:
                    answer = h2load.generate(replace(spec, folder=folder))
                except TaskError as error:
                    answer = str(error)
            link.send_bytes(_ANSWER.dump_json(answer))


def own_address(peer: str) -> str:
    """The address of this machine that ``peer`` can reach."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((peer, PORT))  # sends nothing
        except OSError as error:
            raise UsageError(f"there is no route to {peer}: {error.strerror}") from error
        return str(probe.getsockname()[0])


def divided(spec: LoadSpec, count: int) -> list[LoadSpec]:
    """The parts of a load for so many machines; fewer if connections or requests are fewer."""

    def shares(whole: float) -> list[float]:
        if spec.load.model == "constant rate":
            return [whole / count] * count
        return [whole // count + (at < whole % count) for at in range(count)]

    levels, requests = shares(spec.level), shares(spec.load.requests or 0)
    return [
        replace(spec.but(level=level, requests=int(own) or None), seed=spec.seed * count + at)
        for at, (level, own) in enumerate(zip(levels, requests, strict=True))
        if level and (own or not spec.load.requests)
    ]


def summed(parts: Sequence[LoadResult], threads: int) -> LoadResult:
    """The result of the parts of a load, each of which had so many threads."""
    bodies = [one.bodies for one in parts if one.bodies]
    clients = [one.clients for one in parts if one.clients]
    cpu = sum(one.cpu for one in parts)
    return replace(
        parts[0],
        requests=sum(one.requests for one in parts),
        seconds=max(one.seconds for one in parts),
        errors=Errors.sum([one.errors for one in parts]),
        cpu=cpu,
        workers_cpu=cpu,
        output="\n".join(one.output for one in parts),
        histogram=merged(one.histogram for one in parts).encoded(),
        attempts=sum(one.attempts for one in parts),
        busiest=max(one.busiest or one.cpu / (one.seconds or 1) / threads for one in parts),
        lag=max((one.lag for one in parts if one.lag is not None), default=None),
        bodies=Bodies.sum(bodies) if len(bodies) == len(parts) else None,
        windows=[sum(at) for at in zip_longest(*(one.windows for one in parts), fillvalue=0)],
        clients=Clients(
            count=sum(one.count for one in clients),
            starved=sum(one.starved for one in clients),
            fairness=min((one.fairness for one in clients if one.fairness), default=None),
        )
        if len(clients) == len(parts)
        else None,
        warnings=[warning for one in parts for warning in one.warnings],
    )
