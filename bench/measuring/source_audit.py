"""An audit of the data sources: their counters show that each request used them."""

import json
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

import psycopg
import pymongo
import pymongo.errors

import spec
from bench.generators.interface import LoadResult, TransientError
from bench.measuring.process_tree import listening_at
from bench.measuring.responses import WrongAnswer
from bench.records.measurement import Sources
from harness.errors import UsageError
from harness.services import Services
from harness.services.mongodb import DATABASE

_FLUSH = 5.0  # Seconds that a data source may take to count its last operations
_NOT_AUTHORIZED = 13  # MongoDB's code


@dataclass(frozen=True)
class Source:
    """A data source that counts its operations."""

    name: spec.Source
    url: str
    read: Callable[[], int]  # Reads the current count
    per_path: Sequence[int]  # The fewest operations that a request for each path needs

    def count(self) -> int:
        """The current count; raises :class:`TransientError` if the source does not answer."""
        try:
            return self.read()
        except pymongo.errors.OperationFailure as error:
            if error.code == _NOT_AUTHORIZED:
                raise UsageError(
                    "the user of MONGODB_URL needs the role clusterMonitor: its counters show that "
                    "servers use the database"
                ) from error
            raise TransientError(f"{self.name} cannot be reached: {error}") from error
        except (psycopg.Error, pymongo.errors.PyMongoError, OSError, ValueError) as error:
            raise TransientError(f"{self.name} cannot be reached: {error}") from error

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


class SourceAudit:
    """The data sources that some paths use, and their counts since this object was created."""

    def __init__(self, paths: Sequence[str], services: Services, request_id: str) -> None:
        """Note the counts so far; raises :class:`TransientError` if a source does not answer."""
        self._sources = sources_of(paths, services, request_id)
        self._before = [source.count() for source in self._sources]
        self.upstream = listening_at(one.url for one in self._sources if one.name == "upstream")
        self.databases = listening_at(one.url for one in self._sources if one.name != "upstream")

    def require_undisturbed(self) -> None:
        """Raise if a source ended in the meantime: then no failure is the server's."""
        for source, before in zip(self._sources, self._before, strict=True):
            if source.count() < before:
                raise TransientError(f"{source.name} was restarted during the measurement")
        roots = [*self.databases.roots, *self.upstream.roots]
        if not all(root.is_running() for root in roots):
            raise TransientError("a data source ended during the measurement")

    def used(
        self, warm: Sequence[LoadResult], result: LoadResult, sequences: int, *, counted: bool
    ) -> list[Sources]:
        """The counts; raises if some responses in the warm-up or the load did not use a source.

        ``sequences`` is how many times the paths were requested side by side, ``counted`` whether
        the number of requests was set.
        """
        found = []
        for source, before in zip(self._sources, self._before, strict=True):
            # The upstream counts by request id, which the warm-up does not send.
            loads = [result] if source.name == "upstream" else [*warm, result]
            least = sum(_least(source, one, sequences) for one in loads)
            used = Sources(
                name=source.name,
                counted=_count(source, before, least),
                least=least,
                exactly=source.name == "upstream" and counted and not result.errors.total,
            )
            if not used.agrees:
                answered = sum(one.answered for one in loads)
                needed = f"{'' if used.exactly else 'at least '}{least}"
                raise WrongAnswer(
                    f"{source.name} counted {used.counted} for {answered} responses, which need "
                    f"{needed}: some responses did not use it"
                )
            found.append(used)
        return found


def _least(source: Source, result: LoadResult, sequences: int) -> int:
    # How many requests failed in all steps is not known: any number, then.
    ended = sys.maxsize if result.steps else result.requests + result.errors.total
    return source.least(ended, result.answered, sequences)


def _count(source: Source, before: int, least: int) -> int:
    """The operations since ``before``, once there are enough or no more are to come."""
    deadline = time.monotonic() + _FLUSH
    while (found := source.count() - before) < least and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def sources_of(paths: Sequence[str], services: Services, request_id: str) -> list[Source]:
    """The sources that these paths use."""
    uses: dict[spec.Source, tuple[str, Callable[[], int]]] = {
        "mongodb": (services.mongodb_url, lambda: _operations(services.mongodb_url)),
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


def _operations(url: str) -> int:
    """The number of finds, inserts and aggregations (serverStatus)."""
    with pymongo.MongoClient[dict[str, object]](url, serverSelectionTimeoutMS=5_000) as client:
        status = client[DATABASE].command("serverStatus")
        counts, commands = status["opcounters"], status["metrics"]["commands"]
        return int(counts["query"] + counts["insert"] + commands["aggregate"]["total"])


def delete_notes(url: str, note: str) -> None:
    """Delete the notes that equal one (JSON) but for their ids.

    Raises :class:`TransientError` if MongoDB does not answer.
    """
    try:
        with pymongo.MongoClient[dict[str, object]](url, serverSelectionTimeoutMS=5_000) as client:
            client.get_default_database(DATABASE).notes.delete_many(json.loads(note))
    except pymongo.errors.PyMongoError as error:
        raise TransientError(f"mongodb cannot be reached: {error}") from error


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
