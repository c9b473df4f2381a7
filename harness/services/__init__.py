"""The services that servers use: MongoDB, PostgreSQL and a slow upstream.

Tasks share them: a supervisor (:mod:`harness.services.supervisor`) starts each for the first task
that needs it and stops it after the last, even if tasks crash.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from harness.errors import UsageError
from harness.services.fixtures import clear, fill, names
from harness.services.lease import LOCK, leased
from harness.services.mongodb import MongoDB
from harness.services.postgresql import PostgreSQL
from harness.services.upstream import Upstream
from harness.system.locks import claim, locked

KINDS = (MongoDB, PostgreSQL, Upstream)

_STOPPING = 5.0  # Seconds that the services may take to stop after the last task


@dataclass(frozen=True)
class Services:
    """The addresses of the services."""

    mongodb_url: str
    database_url: str
    slow_api_url: str

    def environment(self) -> dict[str, str]:
        return {
            "MONGODB_URL": self.mongodb_url,
            "DATABASE_URL": self.database_url,
            "SLOW_API_URL": self.slow_api_url,
        }


@contextmanager
def backing_services(env: Mapping[str, str] = os.environ) -> Iterator[Services]:
    """Run all three services, with the fixtures loaded.

    Those that ``env`` names in ``MONGODB_URL``, ``DATABASE_URL`` or ``SLOW_API_URL`` are used as
    they are; the others are started.
    """
    with _running(env) as urls:
        fill(urls)
        yield Services(urls["MONGODB_URL"], urls["DATABASE_URL"], urls["SLOW_API_URL"])


def reset() -> None:
    """Delete the contents of the databases, also of the user's own; load the fixtures."""
    with _running(os.environ) as urls:
        clear(urls)
        fill(urls)


def delete() -> None:
    """Delete all data of the databases that are not the user's own; no task may use them."""
    lock = claim(LOCK, patience=_STOPPING)
    if not lock:
        raise UsageError("a task uses the databases: end it before their data is deleted")
    with lock:
        for database in (MongoDB(), PostgreSQL()):
            with locked(database.folder / "alive"):
                database.reset()


@contextmanager
def _running(env: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Run the services that ``env`` does not name; yields the address for each setting."""
    names(env)  # refuses a wrong URL before anything starts
    settings = {kind.setting: env[kind.setting] for kind in KINDS if env.get(kind.setting)}
    with leased([kind() for kind in KINDS if kind.setting not in settings]) as started:
        yield settings | started
