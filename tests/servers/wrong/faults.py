"""The active faults and switches: the lines of the file named by FAULT_FILE."""

import os

# Opened once: it is read dozens of times per request
_FILE = os.open(os.environ.get("FAULT_FILE", "/dev/null"), os.O_RDONLY)
_LONGEST = 4096  # bytes


def _read() -> str:
    return os.pread(_FILE, _LONGEST, 0).decode()


def fault(*names: str) -> bool:
    """Whether one of these faults is active."""
    return not set(names).isdisjoint(_read().splitlines())


def switched(question: str) -> str | None:
    """The answer to which a question of ``behaviours.toml`` is switched, if any.

    Its line is ``QUESTION=ANSWER``.
    """
    for line in _read().splitlines():
        name, _, answer = line.partition("=")
        if name == question and answer:
            return answer
    return None


def closes_after_each() -> bool:
    """Whether any question is switched to closing after each response."""
    return "=closes after each response\n" in f"{_read()}\n"
