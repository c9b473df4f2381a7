"""Fixtures of several test files."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from bench.generators import LoadResult, generate
from harness.paths import ROOT
from harness.servers.catalog import Target, find_target
from harness.services import Services, backing_services
from harness.services.mongodb import MongoDB
from harness.system.programs import find_program
from harness.toolchains.install import require
from harness.toolchains.known import LOAD_GENERATORS
from tests.browser import Browse, Opened
from tests.loads import Put, answer, in_thread, load_spec

pytest_plugins = ["tests.progress"]

LONGEST = ["test_all_servers", "test_images", "test_copies", "test_faults", "test_behaviours"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take longest come first, so that no process is left with one at the end."""
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    require(["chromium"])
    with sync_playwright() as playwright:
        shell = find_program("chromium-headless-shell")
        browser = playwright.chromium.launch(executable_path=shell)
        yield browser
        browser.close()


@pytest.fixture
def browse(chromium: Browser) -> Iterator[Browse]:
    """Opens pages, on which there are no errors, and no requests but for files of their own."""
    pages: list[Opened] = []

    def opened(path: Path, **how: Any) -> Opened:
        pages.append(Opened(chromium, path, **how))
        return pages[-1]

    yield opened
    for one in pages:
        one.context.close()
        assert one.wrong == []
        assert all(url.startswith(f"{one.root}/") for url in one.asked)


@pytest.fixture(scope="module")
def generators() -> None:
    """The load generators are installed."""
    require(LOAD_GENERATORS)


@pytest.fixture(scope="module")
def port(generators: None) -> Iterator[int]:
    """The port of a server that answers requests as their paths say."""
    with in_thread(answer) as found:
        yield found


@pytest.fixture
def put(tmp_path: Path, port: int) -> Put:
    """Puts a load on that server, or on another port."""

    def put(*paths: str, **changes: Any) -> LoadResult:
        return generate(load_spec(tmp_path, changes.pop("port", port), *paths, **changes))

    return put


@pytest.fixture(scope="module")
def backing(generators: None) -> Iterator[Services]:
    """The services, for measurements."""
    with backing_services() as held:
        yield held


@pytest.fixture(scope="module")
def open_folder() -> Iterator[Path]:
    """A folder that the databases' user can access."""
    database = MongoDB()
    database.install()
    database.home.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="own-", dir=database.home) as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@pytest.fixture(scope="module")
def wrong() -> Target:
    """The server whose faults can be enabled."""
    return find_target("wrong/wrong", ROOT / "tests")
