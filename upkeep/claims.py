"""Published claims, and whether they hold here."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bench.analysis.estimates import ERROR, Difference
from bench.analysis.words import ratio_text
from harness.errors import UsageError
from upkeep.lookup import OTHER, difference, ratio_words, relative, rows_compared, words_of
from upkeep.recorded import table

# How a claim says that a figure is, beside another
_WAYS = ("more", "less", "same")
# The ratio below which a difference is none, for claims that there is none
_SAME = 1.1
_HOLDS = {True: "holds", False: "does not hold"}
_HEADS = ["Claim", "Published", "Here", "CPU time", "Comparable", "Direction", "Size"]


@dataclass(frozen=True)
class _Claim:
    """A published claim, and what was measured here."""

    text: str
    then: str
    way: str
    unlike: str | None
    found: Difference
    cpu: Difference | None

    @cached_property
    def chances(self) -> tuple[float, float]:
        """The p-values of the claim, and of its opposite, by one-sided tests.

        For ``same``, the first is of two tests that the ratio is within 10% (Schuirmann, 1987).
        """
        found = self.found
        if self.way == "same":
            within = max(found.chance_above(1 / _SAME), (-found).chance_above(1 / _SAME))
            return within, min(found.chance_above(_SAME), (-found).chance_above(_SAME))
        above, below = found.chance_above(1), (-found).chance_above(1)
        return (above, below) if self.way == "more" else (below, above)

    def cells(self, error: float, *, told: bool) -> list[str]:
        """Its row of the table, with intervals that are wrong with this chance."""
        if self.unlike:
            here = ratio_words(self.found, None)
            return [self.text, self.then, here, "", f"no: {self.unlike}", "", ""]
        ratio = self.found.ratio(error)
        holds, fails = self.chances
        direction = "cannot be told" if not told else f"**{_HOLDS[holds < fails]}**"
        size = "within" if ratio.low <= float(self.then) <= ratio.high else "outside"
        cpu = ratio_words(self.cpu, error) if self.cpu else ""
        return [self.text, self.then, ratio_text(ratio), cpu, "yes", direction, size]


def claims_table(words: str) -> str:
    """Each claim with its ratio as published and here, and three answers."""
    head, *lines = words.strip().splitlines()
    result, _, options = head.strip().partition(" ")
    claims = [_claim(line, result, options) for line in lines]
    tested = [claim for claim in claims if not claim.unlike]
    told = iter(_told([2 * min(claim.chances) for claim in tested]))
    error = ERROR / max(len(tested), 1)
    rows = [claim.cells(error, told=not claim.unlike and next(told)) for claim in claims]
    return table(_HEADS, rows, numbers=True)


def _claim(line: str, result: str, options: str) -> _Claim:
    parts = [part.strip() for part in line.split("|")]
    if len(parts) != 3:
        raise UsageError(f"{line}: three parts with | between them are needed")
    text, then, claim = parts
    given, named = words_of(f"{result} {claim} {options}", 4, set(_WAYS), f"{OTHER} unlike")
    ways = [way for way in _WAYS if way in named]
    if "per" not in named or len(ways) != 1:
        raise UsageError(f"{line}: one of {', '.join(_WAYS)} is needed, and per=SERVER")
    cpu = None if given[3] == "cpu" else difference([*given[:3], "cpu"], named)
    ranked = not any(row.unranked for row in rows_compared(given, named))
    unlike = named.get("unlike") or (None if ranked else "not ranked")
    return _Claim(text, then, ways[0], unlike, relative(given, named), cpu)


def _told(chances: Sequence[float]) -> list[bool]:
    """Which of these p-values name a difference: Holm (1979)."""
    told, order = [False] * len(chances), sorted(range(len(chances)), key=lambda at: chances[at])
    for rank, at in enumerate(order):
        if chances[at] > ERROR / (len(chances) - rank):
            break
        told[at] = True
    return told
