# ruff: noqa: S608 - SQL is built here from quoted names and the curator's own query
"""SQLite tables: read with Python's own module, a chunk at a time, into a temporary table.

DuckDB can open SQLite files only with an extension that it would download.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote

import numpy as np

from barrow.engines.base import Columns, flat_groups
from barrow.engines.counts import PrivateTextError
from barrow.engines.duckdb.relations import Relation
from barrow.engines.duckdb.session import Session
from barrow.engines.numbers import to_micros, to_number
from barrow.engines.queries import GENERATED, VIEW, VIRTUAL, admit, missing_table, refuse_view
from barrow.engines.source import Source
from barrow.engines.sql.dialects import Syntax
from barrow.errors import ParameterError
from barrow.spaces import Space

Array = np.ndarray[Any, np.dtype[Any]]

_CHUNK = 2**17
_SQLITE = Syntax("sqlite")
"""Names and texts; its casts turn texts into 0, so none is offered."""
_name = _SQLITE.identifier


def _open(source: Source) -> sqlite3.Connection:
    source.files()
    failed = False
    try:
        connection = sqlite3.connect(f"file:{quote(str(source.path))}?mode=ro", uri=True)
        connection.execute("PRAGMA temp_store = MEMORY")  # what a query sorts stays off the disk
        connection.execute("PRAGMA trusted_schema = OFF")  # nothing that the file itself says is run with our rights
        connection.execute("SELECT name FROM sqlite_master").fetchone()
    except sqlite3.Error:
        failed = True
    if failed:
        raise ParameterError(
            f"The file {source.path!r} cannot be opened as an SQLite database.",
            allowed="an SQLite database",
            fix="check the file",
        )
    return connection


def _from(connection: sqlite3.Connection, source: Source, columns: Columns | None) -> str:
    if source.sql is not None and source.acknowledged:
        return f"({source.sql.strip().rstrip(';')}\n)"
    tables = "SELECT name, type, sql FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
    rows = connection.execute(tables).fetchall()
    kinds = {name: _computed(connection, name, kind, sql) for name, kind, sql in rows if not name.startswith("sqlite_")}
    selection = None if source.sql is None else admit(source.sql, columns)
    wanted = str(source.table) if selection is None else ".".join(selection.table)
    if wanted not in kinds:
        raise missing_table(wanted, list(kinds))
    if (why := kinds[wanted]) is not None and not source.acknowledged:
        raise refuse_view(wanted, why)
    if selection is None:
        return _name(wanted)
    return f"({selection.sql(_SQLITE, _name(wanted), _names(connection, _name(wanted)))})"


def _computed(connection: sqlite3.Connection, name: str, kind: str, sql: str) -> str | None:
    """Why a table is no better than a view; None where it holds its records itself."""
    if kind == "view":
        return VIEW
    if re.match(r"\s*CREATE\s+VIRTUAL\b", sql, re.IGNORECASE):
        return VIRTUAL
    hidden = [row[0] for row in connection.execute("SELECT hidden FROM pragma_table_xinfo(?)", [name])]
    return GENERATED if any(hidden) else None


def kinds(source: Source, columns: Columns | None = None) -> dict[str, str]:
    """Names of the columns; SQLite has types for values and not for columns, so their kind is ``any``."""
    with closing(_open(source)) as connection:
        return dict.fromkeys(_names(connection, _from(connection, source, columns)), "any")


def _names(connection: sqlite3.Connection, table: str) -> list[str]:
    try:
        cursor = connection.execute(f"SELECT * FROM {table} LIMIT 0")
        return [column[0] for column in cursor.description]
    except sqlite3.Error:
        failure = ParameterError(
            "The SQL query cannot be run.",
            allowed="one SELECT statement over the tables of the database",
            fix="try it with the sqlite3 command",
        )
    raise failure


def load(session: Session, source: Source, columns: Columns, space: Space) -> tuple[Relation, Columns]:
    """Copy the user and item columns into the temporary table ``loaded``; what its columns are called.

    Users are told apart as SQLite tells values apart: 7 and 7.0 are one user, '7' is another.
    """
    timed = columns.time or (None if columns.zone is None else columns.items[0])  # a number made of times has a zone
    if timed is not None:
        raise ParameterError(
            f"SQLite has no type for the time column {timed!r}: its values are texts or numbers.",
            allowed="dates or timestamps",
            fix="write the table as Parquet with DuckDB: COPY (SELECT …, CAST(at AS TIMESTAMP) …) TO 'visits.parquet'",
        )
    each = [reads for _, group, reads in flat_groups(columns, space) for _ in group]
    are_numbers, uses = [reads.numbers for reads in each], [reads.moments for reads in each]
    are_numbers += [] if columns.weight is None else [True]
    are_numbers += [] if columns.group is None else [False]
    names = ["u", *(f"c{i}" for i in range(len(are_numbers)))]
    types = {"u": "VARCHAR", **{f"c{i}": "DOUBLE" if x else "VARCHAR" for i, x in enumerate(are_numbers)}}
    session.run(f"CREATE TEMP TABLE loaded ({', '.join(f'{k} {v}' for k, v in types.items())})")
    fields = ", ".join(["nullif(u, '')", *(f"c{i}" for i in range(len(are_numbers)))])
    for users, *items in _chunks(source, columns):
        arrays: dict[str, Array] = {"u": _texts(["" if x is None else x for x in users])}
        for i, (column, is_number) in enumerate(zip(items, are_numbers, strict=True)):
            if is_number:
                numbers = np.array([to_number(x) for x in column], dtype=np.float64)
                use = uses[i] if i < len(uses) else None
                if use is not None:
                    numbers = np.where(np.isnan(numbers), use.numbers(to_micros(_texts(list(column)))), numbers)
                arrays[f"c{i}"] = numbers
            else:
                arrays[f"c{i}"] = _texts([_label(x) for x in column])
        session.register("chunk", arrays)
        session.run(f"INSERT INTO loaded ({', '.join(names)}) SELECT {fields} FROM chunk")
    rest = names[len(columns.items) + 1 :]
    weight = None if columns.weight is None else rest[0]
    group = None if columns.group is None else rest[-1]
    return Relation("loaded", types, once=False), Columns("u", names[1 : len(columns.items) + 1], weight, group)


def _chunks(source: Source, columns: Columns) -> Iterator[tuple[tuple[object, ...], ...]]:
    user = _name(columns.user)
    whole = f"CAST({user} AS INTEGER)"
    key = (
        f"CASE WHEN {user} IS NULL THEN NULL WHEN typeof({user}) = 'real' AND {user} = {whole} "
        f"THEN quote({whole}) ELSE quote({user}) END"
    )
    fields = ", ".join([key, *(_name(x) for x in columns.all[1:])])
    with closing(_open(source)) as connection:
        failure: PrivateTextError | None = None
        try:
            cursor = connection.execute(f"SELECT {fields} FROM {_from(connection, source, columns)}")
            while rows := cursor.fetchmany(_CHUNK):
                yield tuple(zip(*rows, strict=True))
        except (sqlite3.Error, UnicodeError) as error:
            failure = PrivateTextError(str(error))
        if failure is not None:
            raise failure


def _label(value: object) -> str:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) else ""  # "" is never a label


def _texts(values: list[Any]) -> Array:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
