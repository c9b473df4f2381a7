"""The questions about the behaviour of every stack, from `behaviours.toml`."""

import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

BEHAVIOURS = Path(__file__).parent / "behaviours.toml"

# ``slow`` costs performance alone; ``risky``, security, data or correctness
Rating = Literal["good", "plain", "slow", "risky"]
RATINGS: tuple[Rating, ...] = get_args(Rating)
Layer = Literal["server", "framework", "driver"]
Requirement = Literal["must", "should"]


@dataclass(frozen=True, config={"extra": "forbid"})
class Answer:
    """A possible answer to a question."""

    rating: Rating
    why: str


@dataclass(frozen=True, config={"extra": "forbid"})
class Question:
    """A question about behaviour that the contract leaves to the stack."""

    id: str
    group: str
    text: str
    source: str  # the RFC section or document that defines the right behaviour
    decided_by: Layer  # as a rule
    answers: dict[str, Answer]
    # How binding the source is, if it says so; apart from the ratings of the answers
    requirement: Requirement | None = None
    system: Literal["linux"] | None = None  # the only one on which it can be asked

    @property
    def is_for_this_system(self) -> bool:
        """Whether it can be asked on this machine's operating system."""
        return self.system in (None, sys.platform)


@cache
def questions() -> dict[str, Question]:
    """All questions by id, in the order of the document."""
    groups = tomllib.loads(BEHAVIOURS.read_text(encoding="utf-8"))
    return {
        id: _question(id, group, **entry)
        for group, entries in groups.items()
        for id, entry in entries.items()
    }


def _question(id: str, group: str, question: str, answers: Any, **entry: str) -> Question:
    try:
        rated = {
            answer: dict(zip(("rating", "why"), *rating.items(), strict=True))
            for answer, rating in answers.items()
        }
        read = {"id": id, "group": group, "text": question, "answers": rated, **entry}
        return TypeAdapter(Question).validate_python(read)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{BEHAVIOURS.name}: {group}.{id}: {error}") from error
