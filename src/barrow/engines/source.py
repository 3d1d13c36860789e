"""Where the records are: files, databases, queries, frames; and how a study or a command line writes it."""

from __future__ import annotations

import glob
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, unquote

from barrow.errors import ParameterError, nearest_name

Kind = Literal["csv", "parquet", "duckdb", "sqlite", "sql", "frame", "table"]

_SUFFIXES: dict[str, Kind] = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet"}
_PACKED = (".gz", ".zst")
_DATABASES = {".duckdb": "duckdb", ".ddb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite"}
_ALLOWED = (
    "a .csv, .tsv, .csv.gz or .parquet file (or a pattern such as data/*.parquet), duckdb:///file.db?table=NAME, "
    "sqlite:///file.db?table=NAME"
)


@dataclass(frozen=True)
class Source:
    """Where records are; nothing is opened or read.

    Args:
        kind: The format.
        path: The file, or a pattern of files (``data/*.parquet``).
        table: The table of a database.
        sql: A query. Over files the file's records are the table ``records``; in a database it sees its tables.
        data: A frame (pandas, Polars, Arrow), or a mapping from names to columns (lists or arrays).

    >>> Source.parse("visits.parquet")
    Source(kind='parquet', path='visits.parquet', table=None, sql=None)
    >>> Source.parse("sqlite:///shop.db?table=orders").table
    'orders'
    >>> Source.of({"uid": [1, 1], "item": ["a", "b"]}).kind
    'table'
    """

    kind: Kind
    path: str | None = None
    table: str | None = None
    sql: str | None = None
    data: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.kind in ("duckdb", "sqlite") and (self.table is None) == (self.sql is None):
            raise ParameterError(
                f"The {self.kind} database {self.path!r} comes with {'neither' if self.table is None else 'both'} of "
                "table and sql.",
                allowed="one of them",
                fix=f"{self.kind}:///{self.path}?table=NAME",
            )
        if self.kind == "sql" and not self.sql:
            raise ParameterError("The query is empty.", allowed="an SQL query", fix='sql="SELECT … FROM …"')

    @classmethod
    def parse(cls, text: str | Path | None, *, sql: str | None = None) -> Source:
        """The source that a study or a command line names.

        Args:
            text: A path by its suffix, a pattern of paths, or the address of a database; None for a query that names
                its files itself.
            sql: A query over it.

        >>> Source.parse("data/*.csv.gz").kind
        'csv'
        >>> Source.parse("visits.parkett")
        Traceback (most recent call last):
        ...
        barrow.errors.ParameterError: The format of the source 'visits.parkett' is not known.
          allowed: a .csv, .tsv, .csv.gz or .parquet file (or a pattern such as data/*.parquet),
          duckdb:///file.db?table=NAME, sqlite:///file.db?table=NAME
          fix:     give the file its usual suffix
        """
        if text is None:
            return cls("sql", sql=sql)
        name = str(text)
        scheme, colon, rest = name.partition("://")
        if colon:
            return cls._database(name, scheme, rest, sql)
        stem = name
        for packed in _PACKED:
            stem = stem.removesuffix(packed)
        suffix = Path(stem).suffix.lower()
        if suffix in _SUFFIXES:
            return cls(_SUFFIXES[suffix], path=name, sql=sql)
        if suffix in _DATABASES:
            if sql is not None and suffix != ".db":
                return cls(_DATABASES[suffix], path=name, sql=sql)  # type: ignore[arg-type]
            address = f"{_DATABASES[suffix]}:///{name}?table=NAME"
            raise ParameterError(
                f"The source {name!r} is a database and names no table.", allowed="an address with a table", fix=address
            )
        raise ParameterError(
            f"The format of the source {name!r} is not known.",
            allowed=_ALLOWED,
            fix="give the file its usual suffix",
        )

    @classmethod
    def _database(cls, name: str, scheme: str, rest: str, sql: str | None) -> Source:
        path, _, query = rest.partition("?")
        options = parse_qs(query)
        wrong = sorted(set(options) - {"table", "sql"})
        if scheme not in ("duckdb", "sqlite") or not path.startswith("/") or len(path) < 2 or wrong:
            raise ParameterError(
                f"The source {name!r} cannot be read.",
                allowed=_ALLOWED,
                fix="sqlite:///file.db?table=NAME; four slashes begin an absolute path: sqlite:////data/file.db",
            )
        queries = [*options.get("sql", []), *([] if sql is None else [sql])]
        if len(queries) > 1 or len(options.get("table", [])) > 1:
            raise ParameterError(
                f"The source {name!r} names several queries or tables.",
                allowed="one table, or one query",
                fix="drop the others",
            )
        table = options.get("table", [None])[0]
        kind: Kind = "duckdb" if scheme == "duckdb" else "sqlite"
        return cls(kind, path=unquote(path[1:]), table=table, sql=queries[0] if queries else None)

    @classmethod
    def of(cls, source: Any) -> Source:
        """``source`` itself, a text or path (see :meth:`parse`), a mapping of columns, or a frame.

        >>> Source.of("visits.csv").kind
        'csv'
        """
        if isinstance(source, cls):
            return source
        if isinstance(source, str | Path):
            return cls.parse(source)
        if isinstance(source, Mapping):
            return cls("table", data=source)
        if hasattr(type(source), "columns") or hasattr(type(source), "column_names"):
            return cls("frame", data=source)
        raise ParameterError(
            f"The source is of the type {type(source).__name__}.",
            allowed="a path, an address, a mapping of columns, or a pandas, Polars or Arrow frame",
            fix="Source.parse('visits.parquet')",
        )

    @property
    def text(self) -> str:
        """How a statement may name the source.

        >>> Source.parse("sqlite:///shop.db?table=orders").text
        'sqlite:///shop.db?table=orders'
        """
        if self.kind in ("duckdb", "sqlite"):
            return f"{self.kind}:///{self.path}?" + (f"table={self.table}" if self.table else "sql=…")
        return self.path or {"sql": "an SQL query", "table": "columns in memory"}.get(self.kind, "a frame in memory")

    def files(self) -> list[str]:
        """The files that the path names, sorted; a missing one is refused with the nearest name in its folder."""
        path = str(self.path)
        if Path(path).is_file():
            return [path]
        found = sorted(x for x in glob.glob(path, recursive=True) if Path(x).is_file())
        if found:
            return found
        if any(sign in path for sign in "*?["):
            raise ParameterError(
                f"No file matches {path!r}.", allowed="a pattern that matches files", fix="check the pattern"
            )
        folder = Path(path).parent
        if not folder.is_dir():
            raise ParameterError(
                f"There is no folder {str(folder)!r}.", allowed="an existing file", fix="check the path"
            )
        close = nearest_name(Path(path).name, sorted(x.name for x in folder.iterdir()))
        raise ParameterError(
            f"There is no file {path!r}." + (f" Did you mean {str(folder / close)!r}?" if close else ""),
            allowed="an existing file",
            fix=f"write {str(folder / close)!r}" if close else "check the path",
        )
