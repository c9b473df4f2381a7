"""Compares what was measured: figures, intervals, and the words for them."""
