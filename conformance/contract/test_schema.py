"""Schemathesis: requests generated from ``openapi.yaml``, responses held against it."""

from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, settings

import spec
from conformance.faults import catches
from conformance.needs import control
from conformance.subject import Subject

LONGEST = 1
"""Milliseconds; longer waits within the contract's bounds are made this long."""

pytestmark = control

schema = schemathesis.openapi.from_path(Path(spec.OPENAPI)).include(method="GET")


@schema.parametrize()
@settings(
    max_examples=20,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@catches("number-unbounded", "html-404", "no-date", "file-without-etag")
def test_operation(case: schemathesis.Case[Any], subject: Subject) -> None:
    highest = _highest(case.path)
    ms = str((case.query or {}).get("ms", "1000"))
    if highest and ms.isdigit() and LONGEST < int(ms) <= highest:
        case.query = dict(case.query or {}) | {"ms": LONGEST}
    case.call_and_validate(base_url=subject.url)


def _highest(path: str) -> int:
    """The greatest ``ms`` that an endpoint takes; 0 where it takes none."""
    parameters = spec.openapi()["paths"][path].get("parameters", [])
    bounds = [one["schema"]["maximum"] for one in parameters if one.get("name") == "ms"]
    return int(bounds[0]) if bounds else 0
