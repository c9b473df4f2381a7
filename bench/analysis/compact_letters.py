"""Letters for groups of servers that are not told apart."""

from collections.abc import Callable, Sequence
from itertools import combinations


def letters(names: Sequence[str], differ: Callable[[str, str], bool]) -> dict[str, str]:
    """The letters of each server's groups; empty if it differs from all others.

    Two servers share a letter if and only if they do not differ. By insertion and absorption:
    Piepho, An algorithm for a letter-based representation of all-pairwise comparisons (2004).
    """
    groups = {frozenset(names)}
    for one, other in combinations(names, 2):
        if differ(one, other):
            split = {
                part
                for group in groups
                for part in ([group - {one}, group - {other}] if {one, other} <= group else [group])
            }
            groups = {group for group in split if not any(group < kept for kept in split)}
    shown = sorted(
        sorted(names.index(name) for name in group) for group in groups if len(group) > 1
    )
    return {
        name: " ".join(_letter(at) for at, group in enumerate(shown) if place in group)
        for place, name in enumerate(names)
    }


def _letter(at: int) -> str:
    return (_letter(at // 26 - 1) if at >= 26 else "") + chr(ord("A") + at % 26)
