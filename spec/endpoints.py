"""The endpoints of the contract: what each is asked with, and where its answer comes from."""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

# A part of the contract: its endpoints, by their tag in `openapi.yaml`
Part = Literal["text", "json", "mongo", "notes", "agents", "files", "gridfs", "sleep", "slow_api"]

Source = Literal["mongodb", "postgresql", "upstream"]


@dataclass(frozen=True)
class Endpoint:
    """One part of the contract."""

    example: str  # the target of a GET request that is served
    source: Source | None = None  # the service that its answers come from
    # Operations of the source for each request: finds, scans or, for each call, 1
    cost: int = 0


ENDPOINTS: dict[Part, Endpoint] = {
    "text": Endpoint("/index"),
    "json": Endpoint("/json"),
    "mongo": Endpoint("/mongo", "mongodb", 1),
    "notes": Endpoint("/notes/66a1f0c2d4e5b6a798c0d1e2", "mongodb", 1),
    "agents": Endpoint("/agents", "postgresql", 1),
    "files": Endpoint("/files/photo.jpg"),
    "gridfs": Endpoint("/gridfs/photo.jpg", "mongodb", 2),  # a find in fs.files and in fs.chunks
    "sleep": Endpoint("/sleep?ms=1"),
    "slow_api": Endpoint("/slow_api?calls=1&ms=1", "upstream", 1),
}

# The setting that names each source
SETTINGS: dict[Source, str] = {
    "mongodb": "MONGODB_URL",
    "postgresql": "DATABASE_URL",
    "upstream": "SLOW_API_URL",
}

_FIRST_SEGMENTS = {
    urlsplit(one.example).path.split("/")[1]: part for part, one in ENDPOINTS.items()
}


def part_of(target: str) -> Part:
    """The part of the contract that a request target belongs to; `ValueError` if to none."""
    first = urlsplit(target).path.removeprefix("/").split("/")[0]
    if first not in _FIRST_SEGMENTS:
        raise ValueError(f"{target} belongs to no part of the contract")
    return _FIRST_SEGMENTS[first]
