"""The server that a database's URL leads to, and URLs for a proxy or another database."""

from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import psycopg
import pymongo
from pymongo.errors import InvalidOperation
from pymongo.uri_parser import parse_uri

from harness.errors import UsageError

_TIMEOUT = 5

# Options of a URL to set, or to remove where the value is None
Options = dict[str, str | None]


@dataclass(frozen=True)
class Address:
    """The server that a URL leads to."""

    url: str
    host: str
    port: int
    # Changes to the URL's options that make a client connect to this server only
    direct: tuple[tuple[str, str | None], ...] = ()

    def through(self, port: int) -> str:
        """The URL for a proxy on a port of 127.0.0.1."""
        parts = urlsplit(self.url)
        user = parts.netloc.rpartition("@")[0]
        return parts._replace(
            scheme=parts.scheme.removesuffix("+srv"),
            netloc=f"{user}@127.0.0.1:{port}" if user else f"127.0.0.1:{port}",
            query=_changed(parts.query, dict(self.direct)),
        ).geturl()


@cache
def mongodb(url: str) -> Address:
    """The server of a MongoDB URL; the primary, if it is a replica set."""
    with pymongo.MongoClient[Any](url, serverSelectionTimeoutMS=_TIMEOUT * 1000) as client:
        in_replica_set = "setName" in client.admin.command("hello")
        try:
            host, port = client.address or parse_uri(url)["nodelist"][0]
        except InvalidOperation:  # several routers of a sharded cluster: any will do
            host, port = min(client.nodes)
    known = parse_uri(url)
    direct: Options = {}
    if in_replica_set:
        direct |= {"replicaSet": None, "directConnection": "true"}
    if known["options"].get("tls") and host != "127.0.0.1":  # its certificate is for another name
        direct |= {"tls": "true", "tlsAllowInvalidHostnames": "true"}
    if known["fqdn"] and known["username"]:  # mongodb+srv: DNS may have set it
        direct["authSource"] = known["options"].get("authSource", "admin")
    return Address(url, host, port, tuple(direct.items()))


@cache
def postgresql(url: str) -> Address:
    """The server of a PostgreSQL URL."""
    with psycopg.connect(url, connect_timeout=_TIMEOUT) as connection:
        host, port = connection.info.host, connection.info.port
        parameters = connection.info.get_parameters()
    if host.startswith("/"):
        raise UsageError(
            "DATABASE_URL names a socket: give a host, so that a proxy can be put before it"
        )
    direct: Options = {"host": None, "hostaddr": None, "port": None}
    if parameters.get("sslmode") == "verify-full" and host != "127.0.0.1":
        direct["sslmode"] = "verify-ca"  # its certificate is for another name
    return Address(url, host, port, tuple(direct.items()))


def with_database(url: str, name: str) -> str:
    """The URL for another database of the same server, with the same user."""
    parts = urlsplit(url)
    options: Options = {}
    if parts.scheme.startswith("mongodb"):
        known = parse_uri(url)
        if known["username"] and not known["options"].get("authSource"):
            options["authSource"] = known["database"] or "admin"
    return parts._replace(path=f"/{quote(name)}", query=_changed(parts.query, options)).geturl()


def _changed(query: str, changes: Options) -> str:
    names = {name.lower() for name in changes}
    kept = [(name, value) for name, value in parse_qsl(query) if name.lower() not in names]
    added = [(name, value) for name, value in changes.items() if value is not None]
    return urlencode([*kept, *added], quote_via=quote, safe="")
