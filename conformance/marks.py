"""Marks of checks: what they need from the server under test, and which faults they catch."""

import pytest

import spec

# Needs a server that the suite started, with its databases
control = pytest.mark.control

# Needs the endpoints of these parts of the contract: ``@serves(*parts)``
serves = pytest.mark.serves

# Runs a check once for an example of each endpoint, the argument ``target``
each_endpoint = pytest.mark.parametrize(
    "target",
    [
        pytest.param(one.example, marks=serves(part), id=part)
        for part, one in spec.ENDPOINTS.items()
    ],
)

# The faults that make a check fail: ``@catches(*faults)``. The tests switch each one on in the
# deliberately wrong server, and require that the checks that claim to catch it fail.
catches = pytest.mark.catches
