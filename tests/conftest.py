"""Fixtures of several test files."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from harness.programs import find_program
from harness.toolchains import require


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    require(["chromium"])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_program("chromium"))
        yield browser
        browser.close()
