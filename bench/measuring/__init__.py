"""Measures servers: the order of trials, each trial, and what limited it."""
