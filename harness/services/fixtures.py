"""Loads the fixtures into the databases, ours and the user's."""

from collections.abc import Mapping

from harness.console import say
from harness.paths import RUN
from harness.services import documents, tables
from harness.system.locks import locked

_DATABASES = {"MONGODB_URL": documents, "DATABASE_URL": tables}


def fill(urls: Mapping[str, str]) -> None:
    """Compare the databases of ``urls`` (by setting) with the fixtures; restore what differs."""
    with locked(RUN / "locks" / "fixtures"):
        for setting, url in _databases(urls):
            if differed := _DATABASES[setting].fill(url):
                say(f"{setting}: fixtures loaded into {', '.join(differed)}")


def names(urls: Mapping[str, str]) -> list[str]:
    """The collections and tables that :func:`clear` deletes."""
    return [name for setting, url in _databases(urls) for name in _DATABASES[setting].names(url)]


def clear(urls: Mapping[str, str]) -> None:
    """Drop the collections and tables of the fixtures in the databases of ``urls``."""
    with locked(RUN / "locks" / "fixtures"):
        for setting, url in _databases(urls):
            _DATABASES[setting].clear(url)
            say(f"{setting}: deleted {', '.join(_DATABASES[setting].names(url))}")


def _databases(urls: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(setting, urls[setting]) for setting in _DATABASES if urls.get(setting)]
