"""The checks: one file a part of the contract."""
