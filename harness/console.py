"""What a task tells the person at the terminal, apart from its result."""

import sys

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

progress = Console(stderr=True, highlight=False)
result = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
"""Where tables go; wide where nobody looks at a terminal."""


def progress_bar() -> Progress:
    """A bar for each task; what a task's ``note`` says stands behind it."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", style="dim", markup=False),
        console=progress,
        transient=True,
    )


def say(text: str) -> None:
    """A line of progress, on stderr."""
    progress.print(text, markup=False, soft_wrap=True)
