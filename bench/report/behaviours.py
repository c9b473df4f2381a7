"""The recorded behaviours, as the report shows them."""

from conformance.matrix.page import render
from conformance.matrix.rows import rows
from harness.servers.catalog import find_targets

BEHAVIOURS = "behaviours.html"
"""The page's file."""


def behaviours_page() -> str:
    """The page that compares all servers."""
    targets = find_targets(["all"])
    return render(targets, rows(targets))
