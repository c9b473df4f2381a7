"""What a task tells the person at the terminal, apart from its result."""

from rich.console import Console

progress = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """A line of progress, on stderr."""
    progress.print(text, markup=False, soft_wrap=True)
