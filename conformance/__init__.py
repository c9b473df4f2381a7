"""The suite that proves that a server keeps the contract."""
