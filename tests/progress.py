"""A pytest plugin that shows what takes long: pytest prints nothing while a test runs."""

import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Event, Thread

import pytest

SILENCE = 30.0  # Seconds after which a running test is named, and then named again

_stderr = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the real stderr: while a test runs, pytest captures it."""
    config.stash[_stderr] = os.dup(2)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    over, began = Event(), time.monotonic()

    def name_it() -> None:
        start = "\n"  # ends pytest's line of dots
        while not over.wait(SILENCE):
            line = f"{start}{item.nodeid} has run for {time.monotonic() - began:.0f} s\n"
            os.write(item.config.stash[_stderr], line.encode())
            start = ""

    if "aloud" not in getattr(item, "fixturenames", ()):
        Thread(target=name_it, daemon=True).start()
    try:
        return (yield)
    finally:
        over.set()


@pytest.fixture(scope="session")
def aloud(pytestconfig: pytest.Config) -> Callable[[], AbstractContextManager[None]]:
    """Tasks in the block show their own progress, on the terminal if there is one."""
    plugins = pytestconfig.pluginmanager
    capture, terminal = plugins.getplugin("capturemanager"), plugins.getplugin("terminalreporter")

    @contextmanager
    def shown() -> Iterator[None]:
        with capture.global_and_fixture_disabled():
            if terminal:  # the processes of pytest-xdist have none
                terminal.ensure_newline()
                terminal.flush()
            yield

    return shown
