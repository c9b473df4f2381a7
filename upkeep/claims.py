"""Published claims, and whether they hold here."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from bench.analysis.estimates import ERROR, Difference
from bench.analysis.words import ratio_text
from harness.errors import UsageError
from upkeep.lookup import Place, difference, ratio_words
from upkeep.recorded import table

# The ratio below which a difference is none, for claims that there is none
_SAME = 1.1
_HOLDS = {True: "holds", False: "does not hold"}
_HEADS = ["Claim", "Published", "Here", "CPU time", "Comparable", "Direction", "Size"]


@dataclass(frozen=True)
class Claim:
    """In words, and as a ratio: that a server has more, less or the same of a figure as another.

    Both were measured in the same result, case and level, unless ``of_…`` names the other's.
    ``unlike`` is why they cannot be compared here.
    """

    text: str
    published: str
    server: str
    way: Literal["more", "less", "same"]
    other: str
    level: float
    figure: str = "rate"
    case: str | None = None
    of_result: str | None = None
    of_level: float | None = None
    of_case: str | None = None
    unlike: str | None = None

    def judged(self, result: str, case: str | None) -> "Judged":
        """The claim beside what was measured; for one without a case, in this one."""
        if self.way not in ("more", "less", "same"):
            raise UsageError(f"{self.text}: one of more, less, same is needed, not {self.way!r}")
        one = Place(result, self.server, self.level, self.case or case)
        level = self.level if self.of_level is None else self.of_level
        other = Place(self.of_result or result, self.other, level, self.of_case or one.case)
        found = difference(one, other, self.figure)
        if found is None:
            raise UsageError(f"{self.text}: {self.figure} has no ratio")
        cpu = None if self.figure == "cpu" else difference(one, other, "cpu")
        unranked = one.row.unranked or other.row.unranked
        return Judged(self, found, cpu, self.unlike or ("not ranked" if unranked else None))


@dataclass(frozen=True)
class Judged:
    """A claim and what was measured here; ``unlike`` is why these cannot be compared."""

    claim: Claim
    found: Difference
    cpu: Difference | None = None
    unlike: str | None = None

    @cached_property
    def chances(self) -> tuple[float, float]:
        """The p-values of the claim, and of its opposite, by one-sided tests.

        For ``same``, the first is of two tests that the ratio is within 10% (Schuirmann, 1987).
        """
        found = self.found
        if self.claim.way == "same":
            within = max(found.chance_above(1 / _SAME), (-found).chance_above(1 / _SAME))
            return within, min(found.chance_above(_SAME), (-found).chance_above(_SAME))
        above, below = found.chance_above(1), (-found).chance_above(1)
        return (above, below) if self.claim.way == "more" else (below, above)

    def cells(self, error: float, *, told: bool) -> list[str]:
        """Its row of the table, with intervals that are wrong with this chance."""
        first = [self.claim.text, self.claim.published]
        if self.unlike:
            return [*first, ratio_words(self.found, None), "", f"no: {self.unlike}", "", ""]
        ratio = self.found.ratio(error)
        holds, fails = self.chances
        direction = "cannot be told" if not told else f"**{_HOLDS[holds < fails]}**"
        size = "within" if ratio.low <= float(self.claim.published) <= ratio.high else "outside"
        cpu = ratio_words(self.cpu, error) if self.cpu else ""
        return [*first, ratio_text(ratio), cpu, "yes", direction, size]


def claims(result: str, *stated: Claim, case: str | None = None) -> str:
    """Published claims, each with its ratio as published and here, and three answers:

    whether both can be compared, whether the direction is that of the claim, and whether the
    published ratio is within the interval.
    """
    found = [one.judged(result, case) for one in stated]
    tested = [one for one in found if not one.unlike]
    told = iter(told_apart([2 * min(one.chances) for one in tested]))
    error = ERROR / max(len(tested), 1)
    rows = [one.cells(error, told=not one.unlike and next(told)) for one in found]
    return table(_HEADS, rows, numbers=True)


def told_apart(chances: Sequence[float]) -> list[bool]:
    """Which of these p-values name a difference: Holm (1979)."""
    told, order = [False] * len(chances), sorted(range(len(chances)), key=lambda at: chances[at])
    for rank, at in enumerate(order):
        if chances[at] > ERROR / (len(chances) - rank):
            break
        told[at] = True
    return told
