"""The part of the repository's servers that keeps the contract."""

LEFT_OUT = frozenset(
    {"django", "eventlet", "eventmachine", "flask", "gevent", "play", "tornado", "twisted"}
)
"""Servers that keep an earlier contract, without notes: their verdicts would only say so."""
