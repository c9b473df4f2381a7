"""The active faults and switches: the lines of the file named by FAULT_FILE."""

import os
from pathlib import Path

_FILE = Path(os.environ.get("FAULT_FILE", "/dev/null"))


def fault(*names: str) -> bool:
    """Whether one of these faults is active."""
    return not set(names).isdisjoint(_FILE.read_text().splitlines())


def switched(question: str) -> str | None:
    """The answer to which a question of ``behaviours.toml`` is switched, if any.

    Its line is ``QUESTION=ANSWER``.
    """
    for line in _FILE.read_text().splitlines():
        name, _, answer = line.partition("=")
        if name == question and answer:
            return answer
    return None


def closes_after_each() -> bool:
    """Whether any question is switched to closing after each response."""
    return "=closes after each response\n" in f"{_FILE.read_text()}\n"
