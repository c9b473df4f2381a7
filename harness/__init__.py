"""Finds, builds and runs servers, with their toolchains and databases; knows nothing of tests."""
