"""Hosts on one network, as network namespaces of this machine."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from harness.system.programs import run_program

T = TypeVar("T")
_CLONE_NEWNET = 0x40000000


class Host:
    """A host: a network namespace with an address."""

    def __init__(self, name: str, address: str) -> None:
        self.name, self.address = name, address
        self.namespace = f"{name}-{os.getpid()}"
        self._thread = ThreadPoolExecutor(1, initializer=self._enter)

    def command(self, *arguments: str) -> list[str]:
        """The command that runs another on this host."""
        return ["ip", "netns", "exec", self.namespace, *arguments]

    def call(self, function: Callable[[], T]) -> T:
        """Call a function in a thread of this host; processes that it starts are on it too."""
        return self._thread.submit(function).result()

    def _enter(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        with Path("/run/netns", self.namespace).open() as namespace:
            if libc.setns(namespace.fileno(), _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")

    def pids(self) -> list[int]:
        """The processes on it, without threads of this one."""
        listed = run_program(["ip", "netns", "pids", self.namespace])[1]
        return [int(pid) for pid in listed.split() if int(pid) != os.getpid()]

    def leave(self) -> None:
        """End the thread."""
        self._thread.shutdown()


@contextmanager
def network(names: Sequence[str]) -> Iterator[list[Host]]:
    """Hosts with these names, on one switch; skips the test where they cannot be made."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("network namespaces need Linux and root")
    hosts = [Host(name, f"198.18.0.{at}") for at, name in enumerate(names, start=1)]
    switch = Host("switch", "")
    with ExitStack() as made:
        for host in [switch, *hosts]:
            status, output = run_program(["ip", "netns", "add", host.namespace])
            if status:
                pytest.skip(f"network namespaces are not permitted, or ip is missing: {output}")
            made.callback(_ip, "netns", "del", host.namespace)
            made.callback(host.leave)
        status, output = run_program(switch.command("true"))
        if status:
            pytest.skip(f"network namespaces cannot be entered here: {output}")
        _ip("-n", switch.namespace, "link", "add", "bridge", "type", "bridge")
        _ip("-n", switch.namespace, "link", "set", "bridge", "up")
        for at, host in enumerate(hosts):
            port, own = f"port{at}", ("-n", host.namespace)
            peer = ("peer", "name", port, "netns", switch.namespace)
            _ip(*own, "link", "add", "eth0", "type", "veth", *peer)
            _ip(*own, "addr", "add", f"{host.address}/24", "dev", "eth0")
            _ip(*own, "link", "set", "eth0", "up")
            _ip(*own, "link", "set", "lo", "up")
            _ip("-n", switch.namespace, "link", "set", port, "master", "bridge", "up")
        yield hosts


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
