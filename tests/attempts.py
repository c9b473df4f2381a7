"""More than one attempt at what a pause of this machine, or of a registry, may spoil."""

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import ParamSpec

P = ParamSpec("P")


def attempts(most: int) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Repeat what fails, this many times in all: a fault fails each time."""

    def repeated(attempt: Callable[P, None]) -> Callable[P, None]:
        @wraps(attempt)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
            for _ in range(most - 1):
                with suppress(AssertionError):
                    return attempt(*args, **kwargs)
            return attempt(*args, **kwargs)

        return wrapped

    return repeated
