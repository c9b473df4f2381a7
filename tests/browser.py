"""A real browser, cut off from the network."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

expect.set_options(timeout=30_000)


class Opened:
    """A page in the browser, with its requests and errors."""

    def __init__(
        self, browser: Browser, path: Path, width: int = 1200, root: Path | None = None, **how: Any
    ):
        """``how`` is passed to :meth:`Browser.new_context`."""
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, offline=True, **how
        )
        self.page: Page = self.context.new_page()
        self.asked: list[str] = []
        self.wrong: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on(
            "console",
            lambda message: self.wrong.append(message.text) if message.type == "error" else None,
        )
        self.url = path.as_uri()
        self.root = (root or path.parent).as_uri()
        self.page.goto(self.url)

    def section(self, name: str = "text") -> Locator:
        return self.page.locator(f"#{name}")

    def chart(self, name: str, kind: str = "bars", section: str = "text") -> Locator:
        figure = self.section(section).locator(f"[data-figure={name}][data-kind={kind}]")
        figure.scroll_into_view_if_needed()
        expect(figure.locator("svg")).to_be_visible()
        return figure

    def draw_all(self) -> None:
        for figure in self.page.locator("figure").all():
            figure.scroll_into_view_if_needed()
            expect(figure.locator("svg")).to_be_visible()

    def shown(self, section: str = "text") -> list[str]:
        """The servers of a table, in order."""
        names = self.section(section).locator("tbody:visible th > .name")
        return names.all_text_contents()


Browse = Callable[..., Opened]
