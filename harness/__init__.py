"""Finds the servers, prepares what they need and runs them; knows nothing of tests."""
