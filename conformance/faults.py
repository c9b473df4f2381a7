"""Declares the faults that each check catches.

The deliberately wrong server in the suite's own tests has these faults. The tests switch each one
on and require that the checks that claim to catch it fail.
"""

from collections.abc import Callable
from typing import TypeVar

import pytest

Check = TypeVar("Check", bound=Callable[..., None])


def catches(*faults: str) -> Callable[[Check], Check]:
    """Declare that a check fails for a server with any one of these faults."""
    return pytest.mark.catches(*faults)
