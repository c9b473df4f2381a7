"""What servers need around them: MongoDB, PostgreSQL and a slow upstream.

Tasks share them. Each is run by a keeper of its own (:mod:`harness.services.keeper`), which starts
it for the first task that needs it and stops it after the last, however those tasks end.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from harness.services import mongodb, postgresql
from harness.services.keeper import keep
from harness.services.upstream import Upstream

ALL = (mongodb.MongoDB, postgresql.PostgreSQL, Upstream)


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
    with ExitStack() as held:
        ours = [service() for service in ALL if not given.get(service.setting)]
        started = held.enter_context(keep(ours))
        urls = dict(given) | started
        mongodb.fill(urls["MONGODB_URL"])
        postgresql.fill(urls["DATABASE_URL"])
        yield Services(urls["MONGODB_URL"], urls["DATABASE_URL"], urls["SLOW_API_URL"])
