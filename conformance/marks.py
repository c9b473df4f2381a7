"""Marks of checks: what they need from the server under test, and which faults they catch."""

from collections.abc import Callable
from typing import TypeVar

import pytest

import spec

Check = TypeVar("Check", bound=Callable[..., None])

# Needs a server that the suite started, with its databases
control = pytest.mark.control


def serves(*parts: str) -> pytest.MarkDecorator:
    """Needs the endpoints of these parts of the contract."""
    return pytest.mark.serves(*parts)


# Runs a check once for an example of each endpoint, the argument ``target``
each_endpoint = pytest.mark.parametrize(
    "target",
    [
        pytest.param(one.example, marks=serves(part), id=part)
        for part, one in spec.ENDPOINTS.items()
    ],
)


def catches(*faults: str) -> Callable[[Check], Check]:
    """Declare that a check fails for a server with any one of these faults.

    The deliberately wrong server in the suite's own tests has them. The tests switch each one on
    and require that the checks that claim to catch it fail.
    """
    return pytest.mark.catches(*faults)
