"""A pytest plugin that runs each check once more for each fault that it claims to catch.

A check with parameters has to catch a fault for one of them at least. Before its first fault it is
run a second time as things are: a check that cannot be repeated is not taken for one that catches.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.subject import Subject
from harness.processes import wait_until
from harness.server import answers

DENIED = "-claimed-none"
"""Ends the names of the faults that a manifest commits, not a server."""


class Proof:
    """What is still to be caught, by check."""

    def __init__(self, fault_file: Path, told: Path) -> None:
        self.fault_file, self.told = fault_file, told
        self.pending: dict[str, set[str]] = {}
        self.claims: dict[str, list[str]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            faults = {fault for mark in item.iter_markers("catches") for fault in mark.args}
            self.claims[_check(item)] = sorted(faults)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[None]:
        outcome = yield
        check = _check(pyfuncitem)
        if check not in self.pending:
            self.pending[check] = {one for one in self.claims[check] if not one.endswith(DENIED)}
            self._run(pyfuncitem)
        for fault in sorted(self.pending[check]):
            self.fault_file.write_text(fault)
            try:
                self._run(pyfuncitem)
            except KeyboardInterrupt:
                raise
            except BaseException:  # Schemathesis' groups of failures are no Exception
                self.pending[check].discard(fault)
            finally:
                self.fault_file.write_text("")
                self._settle(pyfuncitem)
        return outcome

    def _run(self, item: pytest.Function) -> None:
        arguments: dict[str, Any] = {
            name: item.funcargs[name] for name in item._fixtureinfo.argnames
        }
        item.obj(**arguments)

    def _settle(self, item: pytest.Function) -> None:
        """Wait until a server that a fault has killed is there again."""
        subject = item.funcargs.get("subject") or item.funcargs.get("controlled")
        if isinstance(subject, Subject):
            wait_until(lambda: answers(subject.host, subject.port), timeout=15)

    def pytest_sessionfinish(self) -> None:
        missed = {check: sorted(faults) for check, faults in self.pending.items() if faults}
        self.told.write_text(json.dumps({"claims": self.claims, "missed": missed}))


def _check(item: pytest.Item) -> str:
    return item.nodeid.split("[")[0]


def pytest_configure(config: pytest.Config) -> None:
    proof = Proof(Path(os.environ["FAULT_FILE"]), Path(os.environ["PROOF_FILE"]))
    config.pluginmanager.register(proof, "proof")
