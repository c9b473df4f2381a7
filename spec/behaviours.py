"""The questions that are asked of every stack: `behaviours.toml`."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast, get_args

ROOT = Path(__file__).parent
BEHAVIOURS = ROOT / "behaviours.toml"

Rating = Literal["good", "plain", "risky"]
CLOSES = "closes after each response"
"""The answer, to what is asked as a second request, of a server that takes no second one."""

SECOND = ("refusals", "smuggling")
"""Groups whose questions are also asked as the second request of a connection."""


@dataclass(frozen=True)
class Answer:
    """One of the answers that a question can have."""

    rating: Rating
    why: str


@dataclass(frozen=True)
class Question:
    """Something that the stack decides, and not the contract."""

    id: str
    group: str
    text: str
    source: str
    """The RFC section or document that says what is right."""
    answers: dict[str, Answer]


@cache
def questions() -> dict[str, Question]:
    """Every question by its id, in the order of the document."""
    found: dict[str, Question] = {}
    for question in _read(tomllib.loads(BEHAVIOURS.read_text(encoding="utf-8"))):
        if question.id in found:
            raise ValueError(f"{BEHAVIOURS.name}: {question.id} is there twice")
        found[question.id] = question
    return found


def _read(document: dict[str, dict[str, dict[str, object]]]) -> Iterator[Question]:
    for group, entries in document.items():
        for id, entry in entries.items():
            yield _question(id, group, **entry)  # type: ignore[arg-type]
        if group in SECOND:
            for id, entry in entries.items():
                yield _question(f"{id}-second", group, **(entry | _as_second(entry)))  # type: ignore[arg-type]


def _as_second(entry: dict[str, Any]) -> dict[str, Any]:
    """What another place in the connection changes of a question."""
    return {
        "question": f"{entry['question']} As the second request of its connection.",
        "answers": {**entry["answers"], CLOSES: {"plain": "A connection has one request."}},
    }


def _question(
    id: str, group: str, question: str, source: str, answers: dict[str, dict[str, str]]
) -> Question:
    rated = {}
    for answer, rating in answers.items():
        ((name, why),) = rating.items()
        if name not in get_args(Rating):
            raise ValueError(f"{BEHAVIOURS.name}: {group}.{id}: {answer}: no such rating: {name}")
        rated[answer] = Answer(cast(Rating, name), why)
    return Question(id, group, question, source, rated)
