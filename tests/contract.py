"""The part of the repository's servers that keeps the contract."""

LEFT_OUT = frozenset({"django", "flask", "play", "tornado"})
"""Servers that keep an earlier contract, without notes: their verdicts would only say so."""
