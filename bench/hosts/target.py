"""What can be measured on a server that the user runs."""

from collections.abc import Mapping, Sequence

from bench.workload import Workload
from harness.catalog import Target
from harness.errors import UsageError

_SETTINGS = {
    "mongo": "MONGODB_URL",
    "gridfs": "MONGODB_URL",
    "agents": "DATABASE_URL",
    "slow_api": "SLOW_API_URL",
}
"""The setting that leads to the data source of each part of the contract."""


def require_one(targets: Sequence[Target], workload: Workload, env: Mapping[str, str]) -> None:
    """Raise if a workload cannot be put on one server, with settings of its own."""
    if len(targets) > 1:
        names = ", ".join(target.name for target in targets)
        raise UsageError(f"--target is one server: give the NAME/DEPLOYMENT that it is ({names})")
    if len(workload.case) > 1:
        raise UsageError("--target has settings of its own: give them with --case 'WORKERS=2'")
    if workload.images and workload.images.endpoint == "/files":
        raise UsageError("--target cannot serve the images of this workload, which are files here")
    missing = {_SETTINGS[part] for part in workload.parts & _SETTINGS.keys()} - env.keys()
    if missing:
        raise UsageError(
            f"set {' and '.join(sorted(missing))} to what the server at --target uses: "
            "the data sources count what it asks them"
        )
