"""Marks for what a check needs from the server under test."""

import pytest

import spec

control = pytest.mark.control
"""Needs a server that the suite started, with its databases."""


def serves(*parts: str) -> pytest.MarkDecorator:
    """Needs the endpoints of these parts of the contract."""
    return pytest.mark.serves(*parts)


each_endpoint = pytest.mark.parametrize(
    "target",
    [
        pytest.param(one.example, marks=serves(part), id=part)
        for part, one in spec.ENDPOINTS.items()
    ],
)
"""Runs a check once for an example of each endpoint, the argument ``target``."""
