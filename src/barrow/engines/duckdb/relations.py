# ruff: noqa: S608 - SQL is built here from quoted names
"""From a source to something DuckDB can select from, and the kinds of its columns."""

from __future__ import annotations

import glob
import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from barrow.engines.base import Columns, wrong_source
from barrow.engines.counts import redact_errors, refuse_empty
from barrow.engines.duckdb.session import Session
from barrow.engines.frames import arrow_table
from barrow.engines.queries import GENERATED, VIEW, Selection, admit, missing_table, refuse_view
from barrow.engines.source import Source
from barrow.engines.sql.dialects import DUCKDB
from barrow.errors import ParameterError

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_WIDE = ("HUGEINT", "UHUGEINT", "BIGNUM")
# As texts: what a file means must not depend on types guessed from its first rows (007 is not 7), and no line may be
# taken for a comment or a preamble and be dropped.
_CSV_OPTIONS = (
    "header = true, all_varchar = true, skip = 0, comment = '', quote = '\"', escape = '\"', "
    "null_padding = false, ignore_errors = false"
)


@dataclass(frozen=True)
class Relation:
    """What stands after FROM, and the DuckDB types of its columns.

    Attributes:
        sql: The text after FROM.
        types: DuckDB types by column.
        once: Whether it may be read only once: a query might answer differently the second time, and text files
            take long to read.
        files: The files that it reads.
        numbered: The same with a further column ``file_row_number``, where rows can be told apart and skipped by it.
    """

    sql: str
    types: dict[str, str]
    once: bool
    numbered: str | None = None
    files: tuple[str, ...] = ()

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds of values by column; a type itself may list private values (an enumeration does)."""
        return {column: kind(text) for column, text in self.types.items()}

    @property
    def forms(self) -> dict[str, str]:
        """How columns become numbers: by their kinds, but what is wider than 64 bits as decimals do."""
        wide = {column for column, text in self.types.items() if _first(text) in _WIDE}
        return {column: "decimal" if column in wide else kind for column, kind in self.kinds.items()}


def kind(type_text: str) -> str:
    """The kind of values of a DuckDB type."""
    if type_text == "TIME WITH TIME ZONE":
        return "zoned clock"
    if type_text.endswith("]") or type_text.startswith(("STRUCT", "MAP", "UNION", "VARIANT")):
        return "nested"
    first = _first(type_text)
    if first in (*_INTEGERS, *_WIDE):
        return "integer"
    table = {"FLOAT": "real", "DOUBLE": "real", "DECIMAL": "decimal", "VARCHAR": "text", "ENUM": "text"}
    table |= {"BOOLEAN": "boolean", "DATE": "date", "TIME": "clock"}
    if type_text.endswith("WITH TIME ZONE"):
        return "instant"
    return table.get(first, "time" if first.startswith("TIMESTAMP") else "other")


def _first(type_text: str) -> str:
    return re.split(r"[( ]", type_text, maxsplit=1)[0]


def relation(session: Session, source: Source, columns: Columns | None = None) -> Relation:
    """Open ``source`` and judge its query; only names and types are read.

    ``columns`` are None if only names and kinds are asked for.
    """
    if source.sql is not None:
        _judge_each_record(session)
    if source.kind in ("csv", "parquet"):
        return _files(session, source, columns)
    if source.kind == "duckdb":
        return _database(session, source, columns)
    if source.kind == "sql":
        return _query(session, source, columns)
    if source.kind == "frame":
        session.register("frame", arrow_table(source.data))
        return Relation("frame", _types(session, "frame"), once=False)
    raise wrong_source("DuckDB", source, "files, databases, queries and frames")


def _judge_each_record(session: Session) -> None:
    """Parquet's statistics leave out NaN: judged by them, a record would be lost, kept or moved by what others wrote.

    Who writes a query, or a view, need not read Parquet files as :func:`reading_call` does.
    """
    session.run("SET disabled_optimizers = 'statistics_propagation,filter_pushdown'")


def reading_call(source: Source, files: Sequence[str]) -> str:
    """The call that reads text or Parquet files."""
    listed = "[" + ", ".join(DUCKDB.literal(glob.escape(x)) for x in files) + "]"
    options = ", union_by_name = true" if len(files) > 1 else ""
    if Path(str(source.path)).is_dir() or "=" in str(source.path):
        options += ", hive_partitioning = true, hive_types_autocast = false"
    if source.kind == "parquet":  # whose statistics leave out NaN: comparisons must not be folded by them
        options += ", can_have_nan = true"
    if source.kind == "csv":
        options += csv_options(files[0]) + (", encoding = 'latin-1'" if source.encoding == "latin-1" else "")
    return f"read_{source.kind}({listed}{options})"


def _files(session: Session, source: Source, columns: Columns | None) -> Relation:
    files = source.files()
    if source.kind == "csv" and all(Path(x).stat().st_size == 0 for x in files):
        raise refuse_empty()
    read = reading_call(source, files)
    unreadable = partial(
        ParameterError,
        f"The source {source.path!r} cannot be read as {'CSV' if source.kind == 'csv' else 'Parquet'}.",
        allowed="a file of the format that its suffix says",
        fix="barrow check (Python: engine.check) shows the curator the engine's own message",
    )
    if source.sql is not None and source.acknowledged:
        redact_errors(lambda: session.run(f"CREATE TEMP VIEW records AS SELECT * FROM {read}"), unreadable)
        return replace(_free_query(session, source.sql), files=tuple(files))
    types = redact_errors(lambda: _types(session, read), unreadable)
    whole = Relation(read, types, once=source.kind == "csv", files=tuple(files))
    if source.sql is not None:
        selection = admit(source.sql, columns)
        if selection.table != ("records",):
            raise missing_table(".".join(selection.table), ["records"])
        return _selected(session, whole, selection, header_is_sure=source.kind != "csv")
    alone = source.kind == "parquet" and len(files) == 1 and "file_row_number" not in (x.lower() for x in types)
    return replace(whole, numbered=f"{read[:-1]}, file_row_number = true)") if alone else whole


def _selected(session: Session, whole: Relation, selection: Selection, *, header_is_sure: bool = True) -> Relation:
    """The part of a relation that a query asks for that has passed; a fresh text is run, not the curator's."""
    sql = f"({selection.sql(DUCKDB, whole.sql, whole.types, header_is_sure=header_is_sure)})"
    types = redact_errors(lambda: _types(session, sql), _cannot_run)
    return Relation(sql, types, once=whole.once, files=whole.files)


def csv_options(path: str) -> str:
    """How a text file is read: the separator is what stands in its header line, never a guess from its records."""
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
    given = f", delim = {DUCKDB.literal(best)}" if header else ""
    return f"{given}, {_CSV_OPTIONS}"


def _database(session: Session, source: Source, columns: Columns | None) -> Relation:
    source.files()
    unreadable = partial(
        ParameterError,
        f"The file {source.path!r} cannot be opened as a DuckDB database.",
        allowed="a DuckDB database that no other program is writing to",
        fix="close the other program, or copy the file",
    )
    redact_errors(lambda: session.run(f"ATTACH {DUCKDB.literal(str(source.path))} AS source (READ_ONLY)"), unreadable)
    if source.sql is not None and source.acknowledged:
        session.run("USE source")
        return _free_query(session, source.sql)
    tables = "SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE database_name = 'source'"
    views = "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'source' AND NOT internal"
    built = sorted(session.rows(tables))
    names = {_dotted(*row): row for *row, _ in built}
    seen = {_dotted(*row): row for row in sorted(session.rows(views))}
    computed = dict.fromkeys(seen, VIEW) | {_dotted(*row): GENERATED for *row, sql in built if _generates(sql)}
    selection = None if source.sql is None else admit(source.sql, columns)
    wanted = (
        str(source.table) if selection is None else ".".join(x for x in selection.table if x not in ("main", "source"))
    )
    if wanted in computed and not source.acknowledged:
        raise refuse_view(wanted, computed[wanted])
    if wanted not in names | seen:
        raise missing_table(wanted, list(names | seen))
    schema, table = (names | seen)[wanted]
    if wanted in seen:
        _judge_each_record(session)
    sql = f"source.{DUCKDB.identifier(schema)}.{DUCKDB.identifier(table)}"
    whole = Relation(sql, _types(session, sql), once=wanted in seen)
    return whole if selection is None else _selected(session, whole, selection)


def _generates(sql: str) -> bool:
    """Whether a table's own text, apart from names and texts in it, says that columns are computed."""
    return "GENERATED ALWAYS AS" in re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", "", sql).upper()


def _dotted(schema: str, table: str) -> str:
    return table if schema == "main" else f"{schema}.{table}"


def _query(session: Session, source: Source, columns: Columns | None) -> Relation:
    """A query that names its file itself."""
    if source.acknowledged:
        return _free_query(session, str(source.sql))
    selection = admit(str(source.sql), columns)
    inner = Source.parse(selection.table[0], encoding=source.encoding) if len(selection.table) == 1 else None
    if inner is None or inner.kind not in ("csv", "parquet"):
        raise missing_table(".".join(selection.table), [])
    return _selected(session, _files(session, inner, None), selection, header_is_sure=inner.kind != "csv")


def _free_query(session: Session, sql: str) -> Relation:
    """A query that the curator has acknowledged; it runs once, for it might answer differently the second time."""
    import duckdb

    text = sql.strip().rstrip(";")
    try:
        statements = duckdb.extract_statements(text)
        good = len(statements) == 1 and str(statements[0].type).upper().endswith("SELECT")
    except duckdb.Error:
        good = False
    if not good:
        raise ParameterError(
            "The SQL query is not one SELECT statement.",
            allowed="one SELECT statement; over a file, its records are the table named records",
            fix="SELECT uid, item FROM records",
        )
    return Relation(f"({text}\n)", redact_errors(lambda: _types(session, f"({text}\n)"), _cannot_run), once=True)


# DuckDB's own message may quote the records (it reads the first rows of text files to bind a query).
_cannot_run = partial(
    ParameterError,
    "The SQL query cannot be run.",
    allowed="one SELECT statement; over a file, its records are the table named records",
    fix="barrow check (Python: engine.check) shows the curator the engine's own message",
)


def _types(session: Session, sql: str) -> dict[str, str]:
    return {str(row[0]): str(row[1]) for row in session.rows(f"DESCRIBE SELECT * FROM {sql}")}
