"""What can be measured on a server that the user runs."""

from collections.abc import Mapping, Sequence

import spec
from bench.workload import Workload
from harness.catalog import Target
from harness.errors import UsageError


def require_one(targets: Sequence[Target], workload: Workload, env: Mapping[str, str]) -> None:
    """Raise if a workload cannot be put on one server, with settings of its own."""
    if len(targets) > 1:
        names = ", ".join(target.name for target in targets)
        raise UsageError(f"--target is one server: give the NAME/DEPLOYMENT that it is ({names})")
    if len(workload.case) > 1:
        raise UsageError("--target has settings of its own: give them with --case 'WORKERS=2'")
    if workload.images and workload.images.endpoint == "/files":
        raise UsageError("--target cannot serve the images of this workload, which are files here")
    used = {source for part in workload.parts if (source := spec.ENDPOINTS[part].source)}
    missing = {spec.SETTINGS[source] for source in used} - env.keys()
    if missing:
        raise UsageError(
            f"set {' and '.join(sorted(missing))} to what the server at --target uses: "
            "the data sources count what it asks them"
        )
