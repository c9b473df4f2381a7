"""Keeps servers current, and results fit to publish."""
