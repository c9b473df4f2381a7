"""The bodies of all responses under load, against those that are due.

Sampled responses are compared byte for byte; the sum of all lengths is a check on every response.
"""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

import spec
from bench.generators import LoadResult
from bench.measuring.responses import WrongAnswer

_FILES = ("/files/", "/gridfs/")


def body_sizes(paths: Sequence[str], files: Path) -> list[int]:
    """The length in bytes of the body due for each path."""
    return [_size(path, files) for path in paths]


def _size(path: str, files: Path) -> int:
    if path.startswith(_FILES):
        return (files / unquote(path.split("/")[-1])).stat().st_size
    return len(spec.expected(path).body)


def require_bodies(result: LoadResult) -> None:
    """Raise if correct responses cannot have had so many bytes, or so few."""
    bodies = result.bodies
    if bodies is None or bodies.agree:
        return
    bounds = [f"at least {bodies.least}"]
    if bodies.most is not None:
        bounds.append(f"at most {bodies.most}")
    raise WrongAnswer(
        f"the bodies of all responses under load had {bodies.received} bytes, and should have had "
        f"{' and '.join(bounds)}: some were wrong"
    )
