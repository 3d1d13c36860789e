# ruff: noqa: S608 - SQL is built here from quoted names and public numbers
"""Records in Postgres (extra ``postgres``): read where they are, in one read-only snapshot, and nothing is created.

Statements go by the extended protocol alone, which takes one statement at a time: by the simple one a query with
``; COMMIT; …`` in it would leave the read-only transaction. Public tables travel as arrays inside the statement, so
that a read-only replica will do. The server's own messages quote values, so none of them passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from barrow.engines.base import Columns, wrong_source
from barrow.engines.counts import PrivateTextError, redact_errors, refuse_gone
from barrow.engines.queries import GENERATED, VIEW, VIRTUAL, Selection, admit, missing_table, refuse_view
from barrow.engines.source import Source
from barrow.engines.sql.dialects import POSTGRES, Dialect, Table
from barrow.engines.sql.pushdown import SqlEngine
from barrow.errors import DataError, ParameterError, optional_library
from barrow.passwords import by_scram

T = TypeVar("T")
_psycopg = partial(optional_library, "psycopg", extra="postgres", purpose="Sources in Postgres")
Array = np.ndarray[Any, np.dtype[Any]]

_KINDS = {
    "smallint": "integer", "integer": "integer", "bigint": "integer", "real": "real", "double precision": "real",
    "numeric": "decimal", "text": "text", "character varying": "text", "character": "text", "citext": "text",
    "name": "text", "boolean": "boolean", "date": "date", "time without time zone": "clock",
    "time with time zone": "zoned clock",
    "json": "nested", "jsonb": "nested", "xml": "nested", "record": "nested",
}  # fmt: skip
_TYPES = """
WITH RECURSIVE base AS (
  SELECT t.oid AS asked, t.oid, t.typtype, t.typbasetype, t.typcategory FROM pg_type t WHERE t.oid = ANY(%s)
  UNION ALL
  SELECT base.asked, t.oid, t.typtype, t.typbasetype, t.typcategory
  FROM base JOIN pg_type t ON base.typtype = 'd' AND t.oid = base.typbasetype
)
SELECT asked::int8, CASE WHEN typtype = 'e' THEN 'text' WHEN typcategory IN ('A', 'G') OR typtype = 'c' THEN 'json'
  ELSE format_type(oid, NULL) END
FROM base WHERE typtype <> 'd'
"""
_RELATION = """
SELECT n.nspname::text, c.relname::text, c.relkind::text, array_position(current_schemas(false), n.nspname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
ORDER BY 1, 2
"""
_ACCESS = """
SELECT has_schema_privilege(s, 'USAGE'), has_schema_privilege(s, 'USAGE') AND has_table_privilege(t, 'SELECT'),
  has_schema_privilege(s, 'USAGE') AND row_security_active(t)
FROM (SELECT %(schema)s::text AS s, %(table)s::text AS t) AS asked
"""
_COMPUTED = """
WITH RECURSIVE below AS (
  SELECT %(table)s::regclass::oid AS id UNION SELECT inhrelid FROM pg_inherits JOIN below ON inhparent = id
)
SELECT EXISTS (SELECT FROM pg_class JOIN below ON oid = id WHERE relkind = 'f'),
  EXISTS (SELECT FROM pg_attribute JOIN below ON attrelid = id WHERE attgenerated <> '')
"""
_RIGHTS = """
SELECT EXISTS (SELECT FROM pg_roles WHERE rolsuper AND rolname IN (current_user, session_user))
  OR EXISTS (SELECT FROM pg_roles WHERE rolname IN ('pg_execute_server_program', 'pg_write_server_files')
             AND pg_has_role(oid, 'MEMBER'))
"""
_SETTINGS = {
    "idle_in_transaction_session_timeout": "10min",
    "jit": "off",
    "standard_conforming_strings": "on",
    "row_security": "off",  # an error, where a policy would silently leave out records
    "timezone": "UTC",
    "client_connection_check_interval": "5s",  # should this process be killed, the server stops working for it
}


@dataclass
class PostgresReader:
    """One read-only, repeatable-read transaction over one relation."""

    connection: Any
    relation: str = ""
    kinds: dict[str, str] = field(default_factory=dict)
    header_is_sure: bool = True
    _tables: dict[str, Table] = field(default_factory=dict)

    @property
    def forms(self) -> dict[str, str]:
        """How columns become numbers: by their kinds."""
        return self.kinds

    def table(self, name: str, columns: Table) -> None:
        """Let statements see public columns as a table; it travels inside them."""
        self._tables[name] = columns

    def rows(self, sql: str, values: Any = None) -> list[tuple[Any, ...]]:
        """The result of a small query; ``values`` for one that is not about the records."""

        def ask() -> list[tuple[Any, ...]]:
            text, arrays = self._with_tables(sql) if values is None else (sql, values)
            # binary: the extended protocol, which takes one statement only
            return list(self.connection.execute(text, arrays, binary=True).fetchall())

        return guarded(ask)

    def arrays(self, sql: str) -> dict[str, Array]:
        """The columns of a result of whole numbers."""
        parts = list(self.pieces(sql, 2**16))
        names = parts[0] if parts else ("item", "m", "c")
        return {x: np.concatenate([p[x] for p in parts]) if parts else np.zeros(0, dtype=np.int64) for x in names}

    def pieces(self, sql: str, size: int) -> Iterator[Mapping[str, Array]]:
        """The same by a server-side cursor, a piece of at most ``size`` rows at a time."""
        text, arrays = self._with_tables(sql)
        cursor = self.connection.cursor(name="barrow", binary=True)
        try:
            guarded(lambda: cursor.execute(text, arrays, binary=True))
            names = [column.name for column in cursor.description]
            while rows := guarded(lambda: cursor.fetchmany(size)):
                yield dict(zip(names, np.array(rows, dtype=np.int64).T, strict=True))
        finally:
            with suppress(Exception):  # the transaction may have failed, and ends anyway
                cursor.close()

    def _with_tables(self, sql: str) -> tuple[str, dict[str, list[Any]]]:
        text = sql.replace("%", "%%")
        values: dict[str, list[Any]] = {}
        types = {"O": "text", "i": "bigint", "f": "float8"}
        for name, columns in self._tables.items():
            arrays = ", ".join(f"%({name}_{key})s::{types[x.dtype.kind]}[]" for key, x in columns.items())
            inside = f"JOIN unnest({arrays}) AS {name} ({', '.join(columns)}) ON"
            if f"JOIN {name} ON" in text:
                text = text.replace(f"JOIN {name} ON", inside)
                values |= {f"{name}_{key}": x.tolist() for key, x in columns.items()}
        return text, values

    def describe(self, relation: str) -> None:
        """Take ``relation`` for the records, and ask for the names and types of its columns."""

        def ask() -> list[tuple[str, int]]:
            cursor = self.connection.execute(f"SELECT * FROM {relation} LIMIT 0".replace("%", "%%"), {}, binary=True)
            return [(column.name, column.type_code) for column in cursor.description or ()]

        result = guarded(ask)
        named = dict(self.rows(_TYPES, [[oid for _, oid in result]]))
        self.relation = relation
        self.kinds = {name: _kind(str(named.get(oid, "other"))) for name, oid in result}


@dataclass(frozen=True)
class PostgresEngine(SqlEngine[PostgresReader]):
    """Counts and samples records in Postgres; ``postgresql://host/database?table=visits``.

    Passwords come from ``~/.pgpass``, a service file or ``PGPASSWORD``; TLS options of the address are passed on.
    Interrupting (Ctrl-C) cancels the statement on the server.

    Args:
        timeout: How long a statement may take.
        lock_timeout: How long it may wait for a lock.

    >>> PostgresEngine(timeout="10min").name
    'postgres'
    """

    name: ClassVar[str] = "postgres"
    dialect: ClassVar[Dialect] = POSTGRES
    timeout: str = "1h"
    lock_timeout: str = "30s"

    @contextmanager
    def _open(self, source: Source, columns: Columns | None) -> Iterator[PostgresReader]:
        if source.kind != "postgres":
            raise wrong_source("Postgres", source, "postgresql://host/database?table=NAME")
        # Judged before anything is sent to the server.
        judged = source.sql is not None and not source.acknowledged
        selection = admit(str(source.sql), columns) if judged else None
        connection = _connected(str(source.path))
        try:
            reader = PostgresReader(connection)
            self._settle(reader)
            if source.sql is not None and selection is None:
                reader.describe(f"({source.sql.strip().rstrip(';')}\n) AS given")
            else:
                self._choose(reader, source, selection)
            yield reader
        finally:
            with suppress(Exception):  # the server may be gone
                connection.rollback()
            connection.close()

    def _settle(self, reader: PostgresReader) -> None:
        """Read-only, one snapshot, limits; refuse roles that could leave the database."""
        psycopg = _psycopg()
        reader.connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        reader.connection.read_only = True
        if reader.rows(_RIGHTS, [])[0][0]:
            raise ParameterError(
                "The role is a superuser, or may run programs or write files on the server.",
                allowed="a role that may only read the table",
                fix="CREATE ROLE reader LOGIN; GRANT SELECT ON visits TO reader",
            )
        there = reader.rows("SELECT lower(name) FROM pg_settings WHERE lower(name) = ANY(%s)", [[*_SETTINGS]])
        wanted = {str(name): _SETTINGS[str(name)] for (name,) in there}
        wanted |= {"statement_timeout": self.timeout, "lock_timeout": self.lock_timeout}
        for name, value in wanted.items():
            wrong = partial(
                ParameterError, f"The setting {name} cannot be {value!r}.", allowed="a time", fix="timeout='10min'"
            )
            redact_errors(partial(reader.rows, "SELECT set_config(%s, %s, true)", [name, value]), wrong)

    def _choose(self, reader: PostgresReader, source: Source, selection: Selection | None) -> None:
        """The table that is named, or the part of it that a query asks for that has passed."""
        result = reader.rows(_RELATION, [])
        seen = {f"{schema}.{table}": (schema, table, kind) for schema, table, kind, _ in result}
        plain = sorted((row for row in result if row[3] is not None), key=lambda row: -row[3])  # the first schema wins
        seen |= {table: (schema, table, kind) for schema, table, kind, _ in plain}
        wanted = str(source.table) if selection is None else ".".join(selection.table)
        name = wanted if wanted in seen or selection is None else wanted.lower()
        if name not in seen:
            raise missing_table(wanted, sorted(seen))
        schema, table, kind = seen[name]
        if kind in ("v", "m", "f") and not source.acknowledged:
            raise refuse_view(name, VIRTUAL if kind == "f" else VIEW)
        (enter, read, hidden) = reader.rows(_ACCESS, {"schema": schema, "table": _quoted(schema, table)})[0]
        if not enter or not read:
            raise ParameterError(
                f"The role may not read the table {name!r}.",
                allowed="a table that the role may read",
                fix=f"GRANT SELECT ON {name} TO the role" if enter else f"GRANT USAGE ON SCHEMA {schema} TO the role",
            )
        if hidden:
            raise ParameterError(
                f"A policy (row level security) hides records of the table {name!r} from the role.",
                allowed="a table whose records the role may all read",
                fix="a role with BYPASSRLS, or a table without policies",
            )
        whole = _quoted(schema, table)
        foreign, generated = reader.rows(_COMPUTED, {"table": whole})[0]
        if (foreign or generated) and not source.acknowledged:
            raise refuse_view(name, VIRTUAL if foreign else GENERATED)
        reader.describe(whole)
        # What others may have put into their schemas cannot stand in for functions of the system from here on.
        reader.rows("SELECT set_config('search_path', 'pg_catalog', true)", [])
        if selection is not None:
            reader.describe(f"({selection.sql(POSTGRES, whole, reader.kinds)}) AS given")


def _quoted(schema: str, table: str) -> str:
    return f"{POSTGRES.identifier(schema)}.{POSTGRES.identifier(table)}"


def _kind(type_text: str) -> str:
    if type_text.startswith("timestamp"):
        return "instant" if type_text.endswith("with time zone") else "time"
    return _KINDS.get(type_text, "other")


def _connected(address: str) -> Any:
    psycopg = _psycopg()
    try:
        # No prepared statements: a pooler in between may hand the next one to another connection.
        return psycopg.connect(
            address, autocommit=False, prepare_threshold=None, application_name="barrow", require_auth=by_scram(address)
        )
    except (psycopg.Error, UnicodeError, ValueError):
        pass
    raise ParameterError(
        "The server cannot be reached, or refuses the connection.",
        allowed="postgresql://user@host:port/database?table=NAME; the password in ~/.pgpass or PGPASSWORD, by SCRAM",
        fix="try the same address with psql",
    )


def guarded(act: Callable[[], T]) -> T:
    """Do ``act``; the server's messages quote values, so none of them may pass, not even as a cause."""
    psycopg = _psycopg()
    try:
        return act()
    except (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable):
        failure: Exception = DataError(
            "The server did not answer in time.",
            allowed="a statement within the timeout, and a table that nobody locks for longer",
            fix="--timeout 4h, or timeout = '4h' under [data]; PostgresEngine(lock_timeout='10min') waits for locks",
        )
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        gone = getattr(error, "sqlstate", None) is None or str(error.sqlstate).startswith(("08", "57P"))
        failure = refuse_gone() if gone else PrivateTextError(str(error))
    except (psycopg.Error, UnicodeError, ValueError, TypeError) as error:
        failure = PrivateTextError(str(error))
    raise failure
