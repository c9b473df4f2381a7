"""What servers need around them: MongoDB, PostgreSQL and a slow upstream.

Tasks share them. Each is run by a keeper of its own (:mod:`harness.services.keeper`), which starts
it for the first task that needs it and stops it after the last, however those tasks end.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from harness.locks import locked
from harness.services.fixtures import clear, fill
from harness.services.keeper import launch
from harness.services.mongodb import MongoDB
from harness.services.postgresql import PostgreSQL
from harness.services.upstream import Upstream
from harness.services.watch import watched

KINDS = (MongoDB, PostgreSQL, Upstream)


@dataclass(frozen=True)
class Services:
    """Where the services are."""

    mongodb_url: str
    database_url: str
    slow_api_url: str

    def environment(self) -> dict[str, str]:
        """The settings that the contract has for them."""
        return {
            "MONGODB_URL": self.mongodb_url,
            "DATABASE_URL": self.database_url,
            "SLOW_API_URL": self.slow_api_url,
        }


@contextmanager
def services(given: Mapping[str, str] = os.environ) -> Iterator[Services]:
    """Hold all three services, filled with the fixtures.

    Those that ``given`` names in ``MONGODB_URL``, ``DATABASE_URL`` or ``SLOW_API_URL`` are used as
    they are; the others are started.
    """
    with _held(given) as urls:
        fill(urls)
        yield Services(urls["MONGODB_URL"], urls["DATABASE_URL"], urls["SLOW_API_URL"])


def reset(given: Mapping[str, str] = os.environ) -> None:
    """Delete what is in the databases, also in those that ``given`` names, and fill them anew."""
    with _held(given) as urls:
        clear(urls)
        fill(urls)


@contextmanager
def _held(given: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Start what ``given`` does not name, and hold it; gives each setting's address."""
    settings = {kind.setting: given[kind.setting] for kind in KINDS if given.get(kind.setting)}
    ours = [kind() for kind in KINDS if kind.setting not in settings]
    with ExitStack() as held:
        for service in ours:
            held.enter_context(locked(service.folder / "users", shared=True))
        started = launch(ours)
        held.enter_context(watched(ours, started))
        yield settings | started
