"""A server that the user runs, usually on another machine."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import psutil

import spec
from bench.measuring.process_tree import LOOPBACK, listening_at
from bench.workloads.workload import Workload
from conformance.subject import Subject
from harness.errors import TaskError, UsageError
from harness.servers.catalog import Target


class RemoteServer:
    """A running server; its CPU time and memory are known if it is on this machine."""

    environment: Mapping[str, str] = {}

    def __init__(self, url: str) -> None:
        subject = Subject.at(url)
        self.url, self.host, self.port = subject.url, subject.host, subject.port
        self.tree = listening_at([url])

    def require_alive(self) -> None:
        """Raise if it was restarted: its CPU time would start again from 0."""
        if not all(map(psutil.Process.is_running, self.tree.roots)):
            raise TaskError("the server was restarted, or has ended")


def require_one(
    address: str,
    targets: Sequence[Target],
    workload: Workload,
    workers: Sequence[str],
    env: Mapping[str, str],
) -> None:
    """Raise if a workload cannot be put on one server, with settings of its own."""
    if urlsplit(address).hostname in LOOPBACK and set(workers) - set(LOOPBACK):
        raise UsageError(f"{address} is out of reach for {', '.join(workers)}")
    if len(targets) > 1:
        names = ", ".join(target.name for target in targets)
        raise UsageError(f"--target is one server: give the NAME/DEPLOYMENT that it is ({names})")
    if workload.is_attacked:
        raise UsageError("only servers that this task starts are attacked: leave out --target")
    if len(workload.case) > 1:
        raise UsageError("--target has settings of its own: give them with --case 'WORKERS=2'")
    if workload.images and workload.images.endpoint == "/files":
        raise UsageError("--target cannot serve the images of this workload, which are files here")
    missing = {spec.SETTINGS[source] for source in workload.sources} - env.keys()
    if missing:
        raise UsageError(
            f"set {' and '.join(sorted(missing))} to what the server at --target uses: "
            "the data sources count what it asks them"
        )
