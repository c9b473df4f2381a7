"""The checks: one file per part of the contract."""
