"""What a check needs of the server that it is run on."""

import pytest

from conformance.subject import EXAMPLES

control = pytest.mark.control
"""A server that we started ourselves, and what is around it."""


def serves(*parts: str) -> pytest.MarkDecorator:
    """Endpoints of these parts of the contract."""
    return pytest.mark.serves(*parts)


each_endpoint = pytest.mark.parametrize(
    "target",
    [pytest.param(target, marks=serves(part), id=part) for part, target in EXAMPLES.items()],
)
"""Run once for an example of each endpoint, as the argument ``target``."""
