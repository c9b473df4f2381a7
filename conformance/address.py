"""The server that a database's URL leads to, and URLs for a proxy or another database."""

from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from psycopg.conninfo import conninfo_to_dict
from pymongo.uri_parser import parse_uri

from harness.errors import UsageError

# Options with which a client would look for other hosts, or for the name in a certificate
_BYPASSING = ("replicaset", "tls", "ssl", "host", "hostaddr", "port")


@dataclass(frozen=True)
class Address:
    """The server that a URL leads to."""

    url: str
    host: str
    port: int

    def through(self, port: int) -> str:
        """The URL for a proxy on a port of 127.0.0.1."""
        parts = urlsplit(self.url)
        user, at, _ = parts.netloc.rpartition("@")
        return parts._replace(netloc=f"{user}{at}127.0.0.1:{port}").geturl()


def mongodb(url: str) -> Address:
    """The server of a MongoDB URL."""
    _require_one_host("MONGODB_URL", url, url.partition("://")[2].partition("/")[0])
    return Address(url, *parse_uri(url)["nodelist"][0])


def postgresql(url: str) -> Address:
    """The server of a PostgreSQL URL."""
    known = conninfo_to_dict(url)
    host = str(known.get("host") or "")
    _require_one_host("DATABASE_URL", url, host)
    return Address(url, host, int(known.get("port") or 5432))


def _require_one_host(setting: str, url: str, hosts: str) -> None:
    options = {name.lower() for name, _ in parse_qsl(urlsplit(url).query)}
    is_plain = hosts and "," not in hosts and "/" not in hosts and "+srv:" not in url
    if not is_plain or options.intersection(_BYPASSING):
        raise UsageError(
            f"{setting}: the suite puts a proxy in front of the database: give the URL of one "
            "host, without a replica set and TLS"
        )


def with_database(url: str, name: str) -> str:
    """The URL for another database of the same server, with the same user."""
    parts = urlsplit(url)
    query = parse_qsl(parts.query)
    if parts.scheme.startswith("mongodb"):
        known = parse_uri(url)
        if known["username"] and not known["options"].get("authSource"):
            query.append(("authSource", known["database"] or "admin"))
    changed = urlencode(query, quote_via=quote, safe="")
    return parts._replace(path=f"/{quote(name)}", query=changed).geturl()
