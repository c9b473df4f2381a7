"""Errors that end a task with one line and an exit status, and the words in them."""

import difflib
from collections.abc import Iterable, Sequence

from pydantic import ValidationError

# Plain words for Pydantic's messages, which are meant for programmers
_PLAIN = {
    "Field required": "is missing",
    "Extra inputs are not permitted": "is not a known field",
    "Value error, ": "",
    "Input should": "should",
}


class TaskError(Exception):
    """The task failed: exit status 1."""

    exit_code = 1


class UsageError(TaskError):
    """Bad usage, or a missing prerequisite: exit status 2."""

    exit_code = 2


def listed(words: Sequence[str], most: int = 8) -> str:
    """Words with commas between them; the number of those that are too many."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """Suggest the nearest known words, or else give another hint."""
    near = difflib.get_close_matches(word, list(known))
    return f"did you mean {' or '.join(near)}?" if near else otherwise


def describe(error: ValidationError, whole: str) -> str:
    """Each wrong field with its error; ``whole`` names the data where no field is at fault."""
    return "; ".join(
        f"{'.'.join(map(str, detail['loc'])) or whole}: {_plain(detail['msg'])}"
        for detail in error.errors()
    )


def _plain(message: str) -> str:
    for words, plain in _PLAIN.items():
        if message.startswith(words):
            return plain + message.removeprefix(words)
    return message
