"""The questions about the behaviour of every stack, from `behaviours.toml`."""

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
"""The answer of a server without keep-alive to questions about the second request."""

SECOND = ("refusals", "smuggling")
"""Groups whose questions are also asked as the second request of a connection."""


@dataclass(frozen=True)
class Answer:
    """A possible answer to a question."""

    rating: Rating
    why: str


@dataclass(frozen=True)
class Question:
    """A question about behaviour that the contract leaves to the stack."""

    id: str
    group: str
    text: str
    source: str
    """The RFC section or document that defines the right behaviour."""
    answers: dict[str, Answer]


@cache
def questions() -> dict[str, Question]:
    """All questions by id, in the order of the document."""
    found: dict[str, Question] = {}
    for question in _read(tomllib.loads(BEHAVIOURS.read_text(encoding="utf-8"))):
        if question.id in found:
            raise ValueError(f"{BEHAVIOURS.name}: {question.id} is defined twice")
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
    """The question about the second request of a connection."""
    return {
        "question": f"{entry['question']} As the second request of its connection.",
        "answers": {**entry["answers"], CLOSES: {"plain": "Each connection serves one request."}},
    }


def _question(
    id: str, group: str, question: str, source: str, answers: dict[str, dict[str, str]]
) -> Question:
    rated = {}
    for answer, rating in answers.items():
        ((name, why),) = rating.items()
        if name not in get_args(Rating):
            raise ValueError(f"{BEHAVIOURS.name}: {group}.{id}: {answer}: unknown rating: {name}")
        rated[answer] = Answer(cast(Rating, name), why)
    return Question(id, group, question, source, rated)
