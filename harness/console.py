"""Terminal output: progress on stderr, results on stdout."""

import sys
import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

# What is printed may be a name or an address, of which no part is a style or an emoji.
progress = Console(stderr=True, highlight=False, markup=False, emoji=False)
# For tables; as wide as they are if stdout is not a terminal
result = Console(
    highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else 1000
)


def progress_bar() -> Progress:
    """A bar for each task, followed by the task's ``note``.

    Drawing it ten times a second, as is the default, takes CPU time from what is measured.
    """
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", style="dim", markup=False),
        console=progress,
        transient=True,
        refresh_per_second=1,
        disable=not progress.is_terminal,
    )


def without_bar(seconds: float) -> Callable[[str], None]:
    """Prints lines of progress if there is no terminal for a bar: at most one in ``seconds``."""
    due = 0.0

    def say_if_due(text: str) -> None:
        nonlocal due
        if not progress.is_terminal and time.monotonic() >= due:
            due = time.monotonic() + seconds
            say(text)

    return say_if_due


def say(text: str) -> None:
    """Print a line of progress on stderr."""
    progress.print(text, soft_wrap=True)
