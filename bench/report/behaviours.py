"""The recorded behaviours, as the report shows them."""

from collections import Counter

from conformance.matrix.page import render
from conformance.matrix.rows import rows
from harness.catalog import find_targets

BEHAVIOURS = "behaviours.html"
"""The page's file."""


def behaviours_page() -> str:
    """The page that compares all servers."""
    targets = find_targets(["all"])
    return render(targets, rows(targets))


def risks() -> dict[str, int]:
    """The number of risky answers of each deployment that has a record."""
    found: Counter[str] = Counter()
    for row in rows(find_targets(["all"])):
        for target, answer in row.answers.items():
            rated = row.rated(answer)
            found[target] += rated is not None and rated.rating == "risky"
    return dict(found)
