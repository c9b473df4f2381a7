"""Hints for unknown words, and lists of words."""

import difflib
from collections.abc import Iterable, Sequence


def listed(words: Sequence[str], most: int = 8) -> str:
    """Words with commas between them; the number of those that are too many."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """Suggest the nearest known words, or else give another hint."""
    near = difflib.get_close_matches(word, list(known), n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else otherwise
