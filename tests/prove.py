"""A pytest plugin that runs each check again with each fault that it claims to catch.

A check fails unless it claims a fault, at least one of its parameters catches each fault that it
claims, and each parameter catches at least one. Only a failed assertion counts: a check that breaks
has caught nothing. Before its first fault a check runs a second time without faults, which shows
that it is repeatable.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.subject import Subject
from harness.system.ports import answers
from harness.system.processes import wait_until


class Proof:
    """The claimed faults, those not caught yet, and the parameters not run yet, by check."""

    def __init__(self, fault_file: Path) -> None:
        self.fault_file = fault_file
        self.claims: dict[str, set[str]] = {}
        self.pending: dict[str, set[str]] = {}
        self.left: Counter[str] = Counter()
        self.seconds: dict[tuple[str, str], float] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            if isinstance(item, pytest.Function) and item.path.stem == "test_process":
                vars(item.module).update(_REFUSAL=15.0, LATEST=12.0)  # the wrong server is fast
            self.claims.setdefault(_check(item), set()).update(_faults(item))
            self.left[_check(item)] += 1

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[None]:
        check, own = _check(pyfuncitem), _faults(pyfuncitem)
        self.left[check] -= 1
        outcome = yield
        assert self.claims[check], "it claims no fault"
        if check not in self.pending:
            self.pending[check] = set(self.claims[check])
            self._run(pyfuncitem)
        caught = {fault for fault in own & self.pending[check] if self._catch(pyfuncitem, fault)}
        self.pending[check] -= caught
        known = sorted(own - caught, key=lambda fault: self.seconds.get((check, fault), 0))
        if own and not caught and not any(self._catch(pyfuncitem, fault) for fault in known):
            pytest.fail("it catches none of its faults", pytrace=False)
        if self.pending[check] and not self.left[check]:
            pytest.fail(f"it misses {', '.join(sorted(self.pending[check]))}", pytrace=False)
        return outcome

    def _catch(self, item: pytest.Function, fault: str) -> bool:
        """Whether the check fails an assertion while the fault is switched on."""
        start = time.monotonic()
        self.fault_file.write_text(fault)
        try:
            self._run(item)
        except AssertionError:
            return True
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # pytest's own failures are not an Exception
            pytest.fail(f"with {fault} it breaks: {error!r}", pytrace=False)
        finally:
            self.fault_file.write_text("")
            self._settle(item)
            self.seconds[_check(item), fault] = time.monotonic() - start
        return False

    def _run(self, item: pytest.Function) -> None:
        item.obj(**{name: item.funcargs[name] for name in item._fixtureinfo.argnames})

    def _settle(self, item: pytest.Function) -> None:
        """Wait until a server that a fault has killed or blocked answers again."""
        subject = item.funcargs.get("subject") or item.funcargs.get("controlled")
        if isinstance(subject, Subject):
            wait_until(lambda: answers(subject.host, subject.port), timeout=25)


def _check(item: pytest.Item) -> str:
    return item.nodeid.split("[")[0]


def _faults(item: pytest.Item) -> set[str]:
    return {fault for mark in item.iter_markers("catches") for fault in mark.args}


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Proof(Path(os.environ["FAULT_FILE"])), "proof")
