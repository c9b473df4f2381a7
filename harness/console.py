"""Terminal output: progress on stderr, results on stdout."""

import sys

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

progress = Console(stderr=True, highlight=False)
result = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
"""For tables; wide if stdout is not a terminal."""


def progress_bar() -> Progress:
    """A bar for each task, followed by the task's ``note``."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", style="dim", markup=False),
        console=progress,
        transient=True,
    )


def say(text: str) -> None:
    """Print a line of progress on stderr."""
    progress.print(text, markup=False, soft_wrap=True)
