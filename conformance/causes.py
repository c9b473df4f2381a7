"""Failed checks in groups that probably have one cause, the plainest check first."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import spec
from conformance.verdict import Check

_FULL = 3  # the most checks of a group that are shown in full
# Parts of the contract in which the same message is that of one cause, such as a server's end
_GENERAL = 3


@dataclass(frozen=True)
class Cause:
    """What probably makes several checks fail."""

    shown: list[Check]  # those that show it plainly
    others: Counter[str]  # the other checks, counted by part


def part_asked(target: str) -> str:
    """The part of the contract that a request asks; empty if it asks none."""
    try:
        return spec.part_of(target)
    except ValueError:
        return ""


def lacking(failures: Sequence[Check]) -> dict[str, str]:
    """The paths of the endpoints whose plain example is a 404, by part of the contract."""
    not_found = {check.request for check in failures if check.status == 404}
    return {
        part: path
        for path in spec.openapi()["paths"]
        if spec.ENDPOINTS[part := spec.part_of(path)].example in not_found
    }


def causes(failures: Sequence[Check]) -> list[Cause]:
    """Group failed checks, which are in the suite's order, by the endpoint that they asked.

    Checks of the endpoint itself come first; checks of everything, such as concurrency, are only
    counted if they failed at the same part of a response, and else are a group of their own.
    """
    parts: dict[str, set[str]] = {}
    for check in failures:
        parts.setdefault(check.message, set()).add(check.part)
    groups: dict[str, list[Check]] = {}
    plain: dict[str, set[str]] = {}
    for check in failures:
        asked = part_asked(check.request)
        same = len(parts[check.message]) >= _GENERAL
        key = asked or (check.message if same else check.part)
        if check.part == key:
            plain.setdefault(key, set()).add(check.what)
        elif key in plain and check.what not in {*plain[key], ""}:
            key = f"{key} {check.part}"
        groups.setdefault(key, []).append(check)
    return [_cause(group, key if key in plain else "") for key, group in groups.items()]


def _cause(group: list[Check], part: str) -> Cause:
    shown: list[Check] = []
    for check in group:
        if part in ("", check.part) and sum(one.what == check.what for one in shown) < _FULL:
            shown.append(check)
    return Cause(shown, Counter(check.part for check in group if check not in shown))
