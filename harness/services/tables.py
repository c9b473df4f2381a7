"""The fixtures in PostgreSQL: the tables of agents."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import UndefinedColumn, UndefinedTable

import spec
from harness.errors import UsageError
from harness.services.urls import malformed, require_url

_PATIENCE = 5  # seconds
_TABLES = ("agentfeatures", "agent_login_status")

# A checksum of all rows, columns and indexes of the tables
_CHECKSUM = """
SELECT md5(string_agg(line, E'\\n' ORDER BY line)) FROM (
  SELECT 'a ' || row::text AS line FROM agentfeatures row
  UNION ALL SELECT 's ' || row::text FROM agent_login_status row
  UNION ALL SELECT 'c ' || concat_ws(' ', table_name, ordinal_position, column_name, data_type,
                                     character_maximum_length, is_nullable)
            FROM information_schema.columns
            WHERE table_schema = current_schema() AND table_name = ANY(%(tables)s)
  UNION ALL SELECT 'i ' || indexdef FROM pg_indexes
            WHERE schemaname = current_schema() AND tablename = ANY(%(tables)s)
) AS lines
"""


def fill(url: str) -> list[str]:
    """Restore the tables if they differ from the fixtures; return their names if they did."""
    with _connection(url) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('refservers fixtures'))")
        if _is_filled(connection):
            return []
        _require_ours(connection)
        connection.execute(spec.AGENTS_SQL.read_bytes())
        connection.execute("DROP TABLE IF EXISTS fixtures")
        connection.execute("CREATE TABLE fixtures (source text NOT NULL, stored text NOT NULL)")
        connection.execute(
            "INSERT INTO fixtures VALUES (%s, %s)", (_source(), _checksum(connection))
        )
        return list(_TABLES)


def names(url: str) -> list[str]:
    """The tables that :func:`clear` deletes."""
    return [f"{_database_name(url)}.{table}" for table in (*_TABLES, "fixtures")]


def clear(url: str) -> None:
    """Drop the tables of the fixtures."""
    with _connection(url) as connection:
        for table in (*_TABLES, "fixtures"):
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(table)))


@contextmanager
def _connection(url: str) -> Iterator[psycopg.Connection]:
    _database_name(url)
    try:
        with psycopg.connect(url, connect_timeout=_PATIENCE) as connection:
            yield connection
    except psycopg.Error as error:
        why = " ".join(str(error).split())  # libpq writes several lines
        raise UsageError(f"DATABASE_URL: cannot use the database: {why}") from error


def _database_name(url: str) -> str:
    """The database in a URL; refuses one that libpq does not take."""
    require_url("DATABASE_URL", url, "postgresql", "postgres")
    try:
        return str(conninfo_to_dict(url).get("dbname", ""))
    except psycopg.Error:
        raise malformed("DATABASE_URL", "postgresql") from None


def _source() -> str:
    return hashlib.sha256(spec.AGENTS_SQL.read_bytes()).hexdigest()


def _checksum(connection: psycopg.Connection) -> str:
    row = connection.execute(_CHECKSUM, {"tables": list(_TABLES)}).fetchone()
    assert row is not None
    return str(row[0])


def _is_filled(connection: psycopg.Connection) -> bool:
    """Whether the tables are unchanged since the fixtures were loaded."""
    try:
        with connection.transaction():
            found = connection.execute("SELECT source, stored FROM fixtures").fetchone()
            return found == (_source(), _checksum(connection))
    except (UndefinedTable, UndefinedColumn):
        return False


def _require_ours(connection: psycopg.Connection) -> None:
    """Refuse a database that has other tables of the same names."""
    taken = [table for table in _TABLES if _exists(connection, table)]
    if taken and not _exists(connection, "fixtures"):
        raise UsageError(
            f"DATABASE_URL: the database {connection.info.dbname} has {', '.join(taken)} already, "
            "which are not the fixtures: name another database, or delete them with "
            "`./just reset --yes`"
        )


def _exists(connection: psycopg.Connection, table: str) -> bool:
    row = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (table,)).fetchone()
    return bool(row and row[0])
