"""What a task tells the person at the terminal, apart from its result."""

import sys

from rich.console import Console

progress = Console(stderr=True, highlight=False)
result = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
"""Where tables go; wide where nobody looks at a terminal."""


def say(text: str) -> None:
    """A line of progress, on stderr."""
    progress.print(text, markup=False, soft_wrap=True)
