"""Which fault of a server each check catches.

The names are those of the deliberately wrong server in the suite's own tests, which switches each
of them on and shows that the checks that claim to catch it fail.
"""

from collections.abc import Callable
from typing import TypeVar

import pytest

Check = TypeVar("Check", bound=Callable[..., None])


def catches(*faults: str) -> Callable[[Check], Check]:
    """Say that a check fails for a server with any one of these faults."""
    return pytest.mark.catches(*faults)
