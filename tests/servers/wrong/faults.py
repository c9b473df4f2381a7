"""The faults that are switched on now: the words in the file that FAULT_FILE names."""

import os
from pathlib import Path

_FILE = Path(os.environ.get("FAULT_FILE", "/dev/null"))


def fault(*names: str) -> bool:
    """Whether one of these is on."""
    return not set(names).isdisjoint(_FILE.read_text().splitlines())


def switched(question: str) -> str | None:
    """The answer to a question of ``behaviours.toml`` that this server is switched to, if any.

    Such a line is ``QUESTION=ANSWER``.
    """
    for line in _FILE.read_text().splitlines():
        name, _, answer = line.partition("=")
        if name == question and answer:
            return answer
    return None


def closes_after_each() -> bool:
    """Whether this server is switched to close after each response, for whichever question."""
    return "=closes after each response\n" in f"{_FILE.read_text()}\n"
