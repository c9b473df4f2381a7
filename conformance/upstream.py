"""A client of the slow upstream: what it counts, and how it fails."""

import json
from urllib.parse import quote

from conformance.subject import Controlled, Subject


def stats(server: Controlled, request_id: str) -> dict[str, int]:
    """The upstream's count of the calls with this ``X-Request-Id``."""
    found: dict[str, int] = json.loads(_ask(server, "GET", f"/stats?id={quote(request_id)}"))
    return found


def fail(server: Controlled, request_id: str, fault: str) -> None:
    """Make calls with this ``X-Request-Id`` fail."""
    _ask(server, "PUT", f"/faults?id={quote(request_id)}&fault={fault}")


def _ask(server: Controlled, method: str, target: str) -> bytes:
    response = Subject.at(server.services.slow_api_url).ask(target, method)
    assert response.status in (200, 204), f"the upstream answers {response.status} to {target}"
    return response.body
