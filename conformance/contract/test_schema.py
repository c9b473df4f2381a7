"""Schemathesis: requests generated from ``openapi.yaml``, responses checked against it."""

from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import spec
from conformance.marks import catches, control
from conformance.subject import Subject

LONGEST = 1  # milliseconds; longer waits within the contract's bounds are shortened to this

pytestmark = control

# No requests with other methods: the contract does not define their responses.
CONFIG: dict[str, Any] = {"phases": {"coverage": {"unexpected-methods": []}}}
CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]

schema = schemathesis.openapi.from_path(
    Path(spec.OPENAPI), config=schemathesis.Config.from_dict(CONFIG)
).include(method="GET")


@schema.parametrize()
@settings(
    max_examples=20,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@catches("odd-status", "plain-400", "json-as-text")
def test_operation(case: schemathesis.Case[Any], subject: Subject) -> None:
    highest = _highest(case.path)
    ms = str((case.query or {}).get("ms", "1000"))
    if highest and ms.isdigit() and LONGEST < int(ms) <= highest:
        case.query = dict(case.query or {}) | {"ms": LONGEST}
    if any(not value.isascii() for value in (case.headers or {}).values()):
        return  # a stack may refuse it in a format of its own
    case.call_and_validate(base_url=subject.url, checks=CHECKS)


def _highest(path: str) -> int:
    """The highest ``ms`` that an endpoint accepts; 0 if it has no such parameter."""
    parameters = spec.openapi()["paths"][path].get("parameters", [])
    bounds = [one["schema"]["maximum"] for one in parameters if one.get("name") == "ms"]
    return int(bounds[0]) if bounds else 0
