"""The workloads, each a TOML file, and what they are made of."""
