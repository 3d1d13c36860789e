# ruff: noqa: S608 - SQL is built here from quoted names
"""From a source to something DuckDB can select from, and the kinds of its columns."""

from __future__ import annotations

import glob
import gzip
import re
from dataclasses import dataclass
from pathlib import Path

from barrow.engines.base import refuse_empty
from barrow.engines.frames import arrow_table
from barrow.engines.session import PrivateTextError, Session, name, quoted
from barrow.engines.source import Source
from barrow.errors import ParameterError, nearest_name

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_EXACT = ("HUGEINT", "UHUGEINT", "BIGNUM", "DECIMAL")
# As texts: what a file means must not depend on types guessed from its first rows (007 is not 7), and no line may be
# taken for a comment or a preamble and be dropped.
_CSV_OPTIONS = (
    "header = true, all_varchar = true, skip = 0, comment = '', quote = '\"', escape = '\"', "
    "null_padding = false, ignore_errors = false"
)
_TIMES = ("DATE", "TIME", "TIMESTAMP", "INTERVAL")


@dataclass(frozen=True)
class Relation:
    """What stands after FROM, and the DuckDB types of its columns.

    Attributes:
        sql: The text after FROM.
        types: DuckDB types by column.
        once: Whether it may be read only once: a query might answer differently the second time, and text files
            take long to read.
        numbered: The same with a further column ``file_row_number``, where rows can be told apart and skipped by it.

    >>> Relation("t", {"uid": "ENUM('ann', 'bob')"}, once=False).kinds
    {'uid': 'text'}
    """

    sql: str
    types: dict[str, str]
    once: bool
    numbered: str | None = None

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds of values by column; a type itself may list private values (an enumeration does)."""
        return {column: kind(text) for column, text in self.types.items()}


def kind(type_text: str) -> str:
    """The kind of values of a DuckDB type.

    >>> [kind(x) for x in ("BIGINT", "DECIMAL(18,3)", "DOUBLE", "VARCHAR", "BOOLEAN", "INTEGER[]")]
    ['integer', 'decimal', 'real', 'text', 'boolean', 'nested']
    """
    if type_text.endswith("]") or type_text.startswith(("STRUCT", "MAP", "UNION", "VARIANT")):
        return "nested"
    first = re.split(r"[( ]", type_text, maxsplit=1)[0]
    if first in (*_INTEGERS, "HUGEINT", "UHUGEINT", "BIGNUM"):
        return "integer"
    table = {"FLOAT": "real", "DOUBLE": "real", "DECIMAL": "decimal", "VARCHAR": "text", "ENUM": "text"}
    return table.get(first, "boolean" if first == "BOOLEAN" else "time" if first.startswith(_TIMES) else "other")


def number(column: str, type_text: str) -> str:
    """A column as doubles, each the one nearest to what is written; NULL where a text is no number.

    >>> number("x", "INTEGER")
    'CAST("x" AS DOUBLE)'
    """
    first = re.split(r"[( ]", type_text, maxsplit=1)[0]
    if first in (*_INTEGERS, "FLOAT", "DOUBLE"):
        return f"CAST({name(column)} AS DOUBLE)"
    text = f"CAST({name(column)} AS VARCHAR)"
    if first in _EXACT:  # DuckDB's own way from these to doubles rounds twice
        return f"CAST({text} AS DOUBLE)"
    return f"CASE WHEN {text} LIKE '%+-%' THEN NULL ELSE TRY_CAST({text} AS DOUBLE) END"


def user(column: str, type_text: str) -> str:
    """The user column; a user that is not a number is missing.

    >>> user("uid", "VARCHAR")
    '"uid"'
    """
    quoted_name = name(column)
    if kind(type_text) == "real":
        return f"CASE WHEN isnan({quoted_name}) THEN NULL ELSE {quoted_name} END"
    return quoted_name


def relation(session: Session, source: Source) -> Relation:
    """Open ``source``; only names and types are read.

    >>> with Session(memory=None, threads=1, folder=None, progress=False) as session:
    ...     relation(session, Source.parse(None, sql="SELECT 7 AS uid, 'a' AS item")).types
    {'uid': 'INTEGER', 'item': 'VARCHAR'}
    """
    if source.kind in ("csv", "parquet"):
        return _files(session, source)
    if source.kind == "duckdb":
        return _database(session, source)
    if source.kind == "sql":
        return _query(session, str(source.sql))
    if source.kind == "frame":
        session.register("frame", arrow_table(source.data))
        return Relation("frame", _types(session, "frame"), once=False)
    raise ParameterError(
        f"The DuckDB engine does not read a source of the kind {source.kind!r}.",
        allowed="files, databases, queries and frames",
        fix="engine_for(source) chooses the engine",
    )


def _files(session: Session, source: Source) -> Relation:
    files = source.files()
    if source.kind == "csv" and all(Path(x).stat().st_size == 0 for x in files):
        raise refuse_empty()
    listed = "[" + ", ".join(quoted(glob.escape(x)) for x in files) + "]"
    options = ", union_by_name = true" if len(files) > 1 else ""
    if source.kind == "csv":
        options += csv_options(files[0])
    read = f"read_{source.kind}({listed}{options})"
    try:
        if source.sql is not None:
            session.run(f"CREATE TEMP VIEW records AS SELECT * FROM {read}")
            return _query(session, source.sql)
        types = _types(session, read)
        alone = source.kind == "parquet" and len(files) == 1 and "file_row_number" not in (x.lower() for x in types)
        numbered = f"read_parquet({listed}, file_row_number = true)" if alone else None
        return Relation(read, types, once=source.kind == "csv", numbered=numbered)
    except PrivateTextError:
        failure = ParameterError(
            f"The source {source.path!r} cannot be read as {'CSV' if source.kind == 'csv' else 'Parquet'}.",
            allowed="a file of the format that its suffix says",
            fix="barrow check (Python: engine.check) shows the curator the engine's own message",
        )
    raise failure


def csv_options(path: str) -> str:
    """How a text file is read: the separator is what stands in its header line, never a guess from its records.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = Path(file.name).write_text("uid;item")
    ...     csv_options(file.name)[:13]
    ", delim = ';'"
    """
    header = b""
    try:
        if path.endswith(".gz"):
            with gzip.open(path, "rb") as packed:
                header = packed.readline(2**20)
        elif not path.endswith(".zst"):
            with Path(path).open("rb") as plain:
                header = plain.readline(2**20)
    except (OSError, EOFError):
        header = b""
    outside = b"".join(header.split(b'"')[::2])
    signs = {sign: outside.count(sign.encode()) for sign in (",", ";", "\t", "|")}
    best = max(signs, key=lambda sign: signs[sign])
    given = f", delim = {quoted(best)}" if header else ""
    return f"{given}, {_CSV_OPTIONS}"


def _database(session: Session, source: Source) -> Relation:
    source.files()
    try:
        session.run(f"ATTACH {quoted(str(source.path))} AS source (READ_ONLY)")
    except PrivateTextError:
        failure: ParameterError | None = ParameterError(
            f"The file {source.path!r} cannot be opened as a DuckDB database.",
            allowed="a DuckDB database that no other program is writing to",
            fix="close the other program, or copy the file",
        )
    else:
        failure = None
    if failure is not None:
        raise failure
    if source.sql is not None:
        session.run("USE source")
        return _query(session, source.sql)
    found = session.rows(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'source' UNION ALL "
        "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'source' AND NOT internal"
    )
    names = {table if schema == "main" else f"{schema}.{table}": (schema, table) for schema, table in sorted(found)}
    if source.table not in names:
        raise missing_table(str(source.table), list(names))
    schema, table = names[source.table]
    sql = f"source.{name(schema)}.{name(table)}"
    return Relation(sql, _types(session, sql), once=False)


def missing_table(table: str, names: list[str]) -> ParameterError:
    """The error about a table that is not there, with the nearest name.

    >>> print(missing_table("visit", ["visits"]).problem)
    There is no table 'visit'. Did you mean 'visits'?
    """
    close = nearest_name(table, names)
    return ParameterError(
        f"There is no table {table!r}." + (f" Did you mean {close!r}?" if close else ""),
        allowed=", ".join(names[:50]) or "a database with tables",
        fix=f"table={close}" if close else "name one of these tables",
    )


def _query(session: Session, sql: str) -> Relation:
    import duckdb

    text = sql.strip().rstrip(";")
    try:
        statements = duckdb.extract_statements(text)
        good = len(statements) == 1 and str(statements[0].type).upper().endswith("SELECT")
    except duckdb.Error:
        good = False
    types: dict[str, str] | None = None
    if good:
        try:
            types = _types(session, f"({text}\n)")
        except PrivateTextError:
            types = None
    if types is None:
        # DuckDB's own message may quote the records (it reads the first rows of text files to bind a query).
        raise ParameterError(
            "The SQL query cannot be run." if good else "The SQL query is not one SELECT statement.",
            allowed="one SELECT statement; over a file, its records are the table named records",
            fix="barrow check (Python: engine.check) shows the curator the engine's own message",
        )
    return Relation(f"({text}\n)", types, once=True)


def _types(session: Session, sql: str) -> dict[str, str]:
    return {str(row[0]): str(row[1]) for row in session.rows(f"DESCRIBE SELECT * FROM {sql}")}
