"""Warnings: reasons to doubt a figure, each of a kind, with the values that it was seen by.

A kind spoils a figure if something else than the server decided it. It limits one that is only a
bound, or is of the server and of something else. Others are good to know.
"""

from typing import Literal, get_args

from pydantic import BaseModel

# fmt: off
Spoiling = Literal[
    "busy", "waiting", "steal", "observer", "generator-busy", "generator-late", "absent-load",
    "overload", "unsteady", "uncompared", "other-clients",
]
Limiting = Literal[
    "database-busy", "upstream-busy", "crowded", "latency-bound", "more-cores", "connections-lost",
    "never-level", "at-least", "generator-limited",
]
Noted = Literal[
    "failed", "starved", "nothing-held", "ended-early", "uninspected", "generator-costly",
]
# fmt: on
WarningKind = Spoiling | Limiting | Noted
Severity = Literal["spoils", "limits", "note"]

SPOILING: tuple[Spoiling, ...] = get_args(Spoiling)
_LIMITING = get_args(Limiting)
# The load was not there as it was meant to be, or the server had more cores than the others: such a
# figure is not ranked
GATES: tuple[WarningKind, ...] = ("absent-load", "generator-late", "overload", "more-cores")
# The figure is certainly a lower bound: no other is called better
BOUNDS: tuple[WarningKind, ...] = ("at-least", "generator-limited")


class Warning(BaseModel, extra="forbid"):
    """A reason to doubt a figure; `bench.analysis.warning_words` has the words of each kind."""

    kind: WarningKind
    values: dict[str, float | str] = {}

    @classmethod
    def of(cls, kind: WarningKind, **values: float | str) -> "Warning":
        return cls(kind=kind, values=values)

    @property
    def severity(self) -> Severity:
        """How much of the figure is left."""
        if self.kind in SPOILING:
            return "spoils"
        return "limits" if self.kind in _LIMITING else "note"
