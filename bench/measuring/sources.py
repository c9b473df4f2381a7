"""Counters of the data sources, which show that each request used them."""

import json
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

import psycopg
import pymongo
import pymongo.errors

import spec
from bench.measuring.disturbed import Disturbed
from bench.records.result import SourceName
from harness.services import Services
from harness.services.mongodb import DATABASE


@dataclass(frozen=True)
class Source:
    """A data source that counts its operations."""

    name: SourceName
    url: str
    read: Callable[[], int]  # Reads the current count
    per_path: Sequence[int]  # The fewest operations that a request for each path needs

    def count(self) -> int:
        """The current count; raises :class:`Disturbed` if the source does not answer."""
        try:
            return self.read()
        except (psycopg.Error, pymongo.errors.PyMongoError, OSError, ValueError) as error:
            raise Disturbed(f"{self.name} cannot be reached: {error}") from error

    def least(self, ended: int, good: int, sequences: int) -> int:
        """The fewest operations that the ``good`` ones among the requests that ended need.

        The paths are requested in turn by each of some ``sequences``: so none was requested more
        often than an equal share of all requests, and once more in each sequence. Any of them may
        have failed, those for the paths that need the most too.
        """
        most = ended // len(self.per_path) + sequences
        operations = 0
        for cost, paths in sorted(Counter(self.per_path).items()):
            taken = min(good, most * paths)
            operations += taken * cost
            good -= taken
        return operations


def sources_of(paths: Sequence[str], services: Services, request_id: str) -> list[Source]:
    """The sources that these paths use."""
    uses: dict[SourceName, tuple[str, Callable[[], int]]] = {
        "mongodb": (services.mongodb_url, lambda: _finds(services.mongodb_url)),
        "postgresql": (services.database_url, lambda: _scans(services.database_url)),
        "upstream": (services.slow_api_url, lambda: _calls(services.slow_api_url, request_id)),
    }
    found = []
    for name, (url, read) in uses.items():
        per_path = [_cost(name, path) for path in paths]
        if any(per_path):
            found.append(Source(name, url, read, per_path))
    return found


def _cost(source: str, path: str) -> int:
    endpoint = spec.ENDPOINTS[spec.part_of(path)]
    if endpoint.source != source:
        return 0
    if source == "upstream":
        return int(dict(parse_qsl(urlsplit(path).query)).get("calls", "10"))
    return endpoint.cost


def _finds(url: str) -> int:
    """The number of find and aggregate commands (serverStatus: opcounters, metrics.commands)."""
    with pymongo.MongoClient[dict[str, object]](url, serverSelectionTimeoutMS=5_000) as client:
        status = client[DATABASE].command("serverStatus")
        commands = status["metrics"]["commands"]
        return int(status["opcounters"]["query"]) + int(commands["aggregate"]["total"])


def _scans(url: str) -> int:
    """The number of scans of the agents table (PostgreSQL documentation, 27.2.19,
    pg_stat_all_tables)."""
    query = (
        "SELECT seq_scan + coalesce(idx_scan, 0) FROM pg_stat_user_tables "
        "WHERE relname = 'agentfeatures'"
    )
    with psycopg.connect(url, connect_timeout=5) as connection:
        row = connection.execute(query).fetchone()
    return int(row[0]) if row else 0


def _calls(url: str, request_id: str) -> int:
    with urllib.request.urlopen(f"{url}stats?id={request_id}", timeout=10) as response:  # noqa: S310
        return int(json.load(response)["calls"])
