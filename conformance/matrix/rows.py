"""The records of several deployments, question by question."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from conformance import records
from harness.servers.catalog import Target
from spec.behaviours import RATINGS, Question, Rating, questions


def described(question: Question) -> dict[str, str | None]:
    """The question without its possible answers."""
    return {
        "id": question.id,
        "group": question.group,
        "question": question.text,
        "source": question.source,
        "decided_by": question.decided_by,
        "requirement": question.requirement,
    }


@dataclass(frozen=True)
class Row:
    """A question with the recorded answer of each deployment that was asked."""

    question: Question
    answers: dict[str, str]  # by ``server/deployment``

    def as_dict(self) -> dict[str, object]:
        """The question, and each deployment's answer with its rating."""
        return described(self.question) | {
            "differs": self.differs,
            "answers": {
                name: {"answer": answer, "rating": self.rating(answer)}
                for name, answer in self.answers.items()
            },
        }

    @property
    def differs(self) -> bool:
        """Whether there is more than one answer."""
        return len(set(self.answers.values())) > 1

    def rating(self, answer: str) -> Rating:
        return self.question.answers[answer].rating

    @property
    def worst(self) -> Rating:
        """The worst rating of the answers that are given."""
        return max(map(self.rating, self.answers.values()), key=RATINGS.index)

    @property
    def is_notable(self) -> bool:
        """Whether answers differ, or the only one does harm."""
        return self.differs or self.worst in ("risky", "slow")

    def by_answer(self) -> dict[str, list[str]]:
        """The deployments that give each answer, in the question's order."""
        found: dict[str, list[str]] = {answer: [] for answer in self.question.answers}
        for deployment, answer in self.answers.items():
            found[answer].append(deployment)
        return {answer: deployments for answer, deployments in found.items() if deployments}


def rows(targets: Sequence[Target], group: str | None = None) -> list[Row]:
    """A row for each question that any of them was asked: different answers, then the worst.

    Answers that are no longer listed are left out.
    """
    recorded = {
        target.name: record.answers for target in targets if (record := records.find(target))
    }
    found = [
        Row(
            question,
            {name: one[id] for name, one in recorded.items() if one.get(id) in question.answers},
        )
        for id, question in questions().items()
        if group in (None, question.group)
    ]
    return sorted(
        (row for row in found if row.answers),
        key=lambda row: (not row.differs, 0 if row.differs else -RATINGS.index(row.worst)),
    )


def condensed(deployments: Sequence[str], every: Sequence[str]) -> list[str]:
    """Names of deployments; a server's name replaces those of all its deployments."""
    names: list[str] = []
    for server, group in groupby(deployments, lambda name: name.split("/")[0]):
        some, whole = list(group), [one for one in every if one.split("/")[0] == server]
        names += [server] if len(some) == len(whole) else some
    return names
