"""Where the records are: files, databases, queries, frames; and how a study or a command line writes it."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qs, unquote

from barrow.engines.addresses import spark_address, without_secrets
from barrow.errors import ParameterError, nearest_name, one_of, plain_file
from barrow.registry import Registry, declared

if TYPE_CHECKING:
    from barrow.engines.base import Engine

_DUCKDB = "barrow.engines.duckdb:DuckDBEngine"
ENGINES: Registry[Engine] = Registry(
    "kind of source",
    "barrow.engines",
    {
        **dict.fromkeys(("csv", "parquet", "duckdb", "sqlite", "sql", "frame"), _DUCKDB),
        "table": "barrow.engines.memory:MemoryEngine",
        "postgres": "barrow.engines.sql.postgres:PostgresEngine",
        "spark": "barrow.engines.spark:SparkEngine",
        "counts": "barrow.engines.counted:CountedEngine",
    },
)
"""The engine that reads each kind of source. A file with the suffix ``.NAME``, and an address ``NAME://…``, belong to
the engine that another package gives this name."""
_SUFFIXES = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet"}
_PACKED = (".gz", ".zst")
_DATABASES = {".duckdb": "duckdb", ".ddb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite"}
_SERVERS = {"postgresql": "postgres", "postgres": "postgres", "spark": "spark", "sc": "spark"}
_ALLOWED = (
    "a .csv, .tsv, .csv.gz or .parquet file (or a folder of them, or a pattern such as data/*.parquet), "
    "duckdb:///file.db?table=NAME, sqlite:///file.db?table=NAME, postgresql://host/database?table=NAME, "
    "spark://local[*]?path=FOLDER"
)
_UNCHECKED = (
    "{} was acknowledged and not checked: if it mixes the records of different people or moves items, no promise of "
    "this statement holds."
)

_COUNTED = (
    "The records were counted by the curator's own engine, with the SELECT that barrow wrote (its digest stands beside "
    "the source): barrow cannot check that this SELECT ran on the records and that its rows are unchanged."
)


@dataclass(frozen=True, repr=False)
class Source:
    """Where records are; nothing is opened or read.

    Args:
        kind: The format: what the engine that reads it is registered for.
        path: The file, a pattern of files (``data/*.parquet``), a folder, or the address of a server.
        table: The table of a database.
        sql: A query. Over files the file's records are the table ``records``; in a database it sees its tables.
        data: A frame (pandas, Polars, Arrow, Spark), or a mapping from names to columns (lists or arrays).
        acknowledged: Whether a query that may mix people or move items (or a view) is let through.
        version: What the user calls this state of the records (``"2026-10"``): another version is another release.
        encoding: How text files are encoded, ``"utf-8"`` or ``"latin-1"``.

    >>> Source.parse("visits.parquet")
    Source(kind='parquet', path='visits.parquet')
    >>> Source.parse("sqlite:///shop.db?table=orders").table
    'orders'
    >>> Source.of({"uid": [1, 1], "item": ["a", "b"]}).kind
    'table'
    """

    kind: str
    path: str | None = None
    table: str | None = None
    sql: str | None = None
    data: Any = field(default=None, repr=False, compare=False)
    acknowledged: bool = False
    version: str | None = None
    encoding: Literal["utf-8", "latin-1"] = "utf-8"
    _same: int = field(init=False, default=0)
    """Two sources in memory are equal if they are the same object: frames do not compare as a whole."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_same", 0 if self.data is None else id(self.data))
        if self.kind not in ENGINES:
            raise ParameterError(
                f"The kind of source is {self.kind!r}.", allowed=", ".join(ENGINES), fix="Source.of(…)"
            )
        named = (self.table is not None) + (self.sql is not None)
        files = self.kind == "spark" and (self.data is not None or "path=" in str(self.path)) and self.table is None
        if self.kind in ("duckdb", "sqlite", *_SERVERS.values()) and named != 1 and not files:
            where = self.path if self.kind in _SERVERS.values() else f"{self.kind}:///{self.path}"
            raise ParameterError(
                f"The {self.kind} database {self.path!r} names {'neither a' if self.table is None else 'both a'} table "
                f"{'nor' if self.table is None else 'and'} a query.",
                allowed="one of them",
                fix=f"{where}{'&' if '?' in str(where) else '?'}table=NAME",
            )
        if self.kind == "sql" and not self.sql:
            raise ParameterError("The query is empty.", allowed="an SQL query", fix='sql="SELECT … FROM …"')
        one_of(self.encoding, "encoding", ("utf-8", "latin-1"))
        if self.version is not None and (not isinstance(self.version, str) or not self.version):
            raise ParameterError(f"version is {self.version!r}.", allowed="a text", fix='version="2026-10"')

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in ("kind", "path", "table", "sql")}
        shown |= {"acknowledged": self.acknowledged or None, "version": self.version}
        shown |= {"encoding": None if self.encoding == "utf-8" else self.encoding}
        return f"Source({', '.join(f'{name}={value!r}' for name, value in shown.items() if value is not None)})"

    @classmethod
    def parse(
        cls,
        text: str | Path | None,
        *,
        sql: str | None = None,
        acknowledge_sql: bool = False,
        version: str | None = None,
        encoding: str = "utf-8",
    ) -> Source:
        """The source that a study or a command line names.

        Args:
            text: A path by its suffix, a folder, a pattern of paths, or the address of a database; None for a query
                that names its file itself.
            sql: A query over it.
            acknowledge_sql: Let a query pass that may mix people or move items; statements then say so.
            version: What the user calls this state of the records.
            encoding: How text files are encoded.

        >>> Source.parse("data/*.csv.gz").kind
        'csv'
        >>> Source.parse("visits.parkett")
        Traceback (most recent call last):
        ...
        barrow.errors.ParameterError: The format of the source 'visits.parkett' is not known.
          allowed: a .csv, .tsv, .csv.gz or .parquet file (or a folder of them, or a pattern such as data/*.parquet),
          duckdb:///file.db?table=NAME, sqlite:///file.db?table=NAME, postgresql://host/database?table=NAME,
          spark://local[*]?path=FOLDER
          fix:     give the file its usual suffix
        """
        result = cls._named(text, sql)
        if any("\ud800" <= letter <= "\udfff" for letter in result.sql or ""):
            raise ParameterError(
                "The SQL query holds half a character (a lone surrogate), which no database can read.",
                allowed="Unicode text",
                fix="type the query again; a terminal or a file that is not UTF-8 makes such characters",
            )
        return replace(result, acknowledged=bool(acknowledge_sql), version=version, encoding=_plain_encoding(encoding))

    @classmethod
    def _named(cls, text: str | Path | None, sql: str | None) -> Source:
        if text is None:
            return cls("sql", sql=sql)
        name = str(text)
        if name.startswith(("local[", "local?")):
            name = f"spark://{name}"
        scheme, colon, rest = name.partition("://")
        if colon and scheme not in (*_SERVERS, *ENGINES.own) and scheme in ENGINES:
            if re.search("@|password|secret|token", rest.lower()):
                raise ParameterError(
                    f"The address {scheme}://… seems to hold a user or a secret.",
                    allowed="an address that may stand in a study, a statement and a ledger",
                    fix="put it where the engine's own library looks for it, such as a variable",
                )
            return cls(scheme, path=name, sql=sql)
        if colon:
            return cls._database(name, scheme, rest, sql)
        stem = name
        for packed in _PACKED:
            stem = stem.removesuffix(packed)
        suffix = Path(stem).suffix.lower()
        if name and os.path.isdir(name):  # a name that no file system takes is no folder
            return cls(*_folder(name), sql=sql)
        if suffix in _SUFFIXES:
            return cls(_SUFFIXES[suffix], path=name, sql=sql)
        if suffix in _DATABASES:
            if sql is not None and suffix != ".db":
                return cls(_DATABASES[suffix], path=name, sql=sql)
            address = f"{_DATABASES[suffix]}:///{name}?table=NAME"
            raise ParameterError(
                f"The source {name!r} is a database and names no table.", allowed="an address with a table", fix=address
            )
        if suffix and suffix[1:] in ENGINES:
            return cls(suffix[1:], path=name, sql=sql)
        raise ParameterError(
            f"The format of the source {name!r} is not known.",
            allowed=_ALLOWED,
            fix="give the file its usual suffix",
        )

    @classmethod
    def _database(cls, name: str, scheme: str, rest: str, sql: str | None) -> Source:
        path, _, query = rest.partition("?")
        options = parse_qs(query)
        if scheme not in _SERVERS and ("@" in rest or "password" in rest.lower()):
            name = f"{scheme}://…"  # an error must not repeat a secret
        kind = _SERVERS.get(scheme, "duckdb" if scheme == "duckdb" else "sqlite")
        address = unquote(path[1:])
        if scheme in _SERVERS:
            address = spark_address(name) if kind == "spark" else without_secrets(name)
        elif (
            scheme not in ("duckdb", "sqlite")
            or not path.startswith("/")
            or len(path) < 2
            or set(options) - {"table", "sql"}
        ):
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
        return cls(kind, path=address, table=table, sql=queries[0] if queries else None)

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
        if type(source).__module__.startswith("pyspark.sql.") and hasattr(type(source), "sparkSession"):
            return cls("spark", data=source)
        if hasattr(type(source), "columns") or hasattr(type(source), "column_names"):
            return cls("frame", data=source)
        raise ParameterError(
            f"The source is of the type {type(source).__name__}.",
            allowed="a path, an address, a mapping of columns, or a pandas, Polars, Arrow or Spark frame",
            fix="Source.parse('visits.parquet')",
        )

    @property
    def text(self) -> str:
        """How a statement may name the source; it holds no secret.

        >>> Source.parse("sqlite:///shop.db?table=orders").text
        'sqlite:///shop.db?table=orders'
        """
        tail = f"table={self.table}" if self.table else "sql=…"
        if self.kind in _SERVERS.values() and self.path is not None:
            named = self.table is not None or self.sql is not None
            return f"{self.path}{'&' if '?' in str(self.path) else '?'}{tail}" if named else self.path
        if self.kind == "counts":
            return f"{self.path}, counted by {self.table}"
        if self.kind in ("duckdb", "sqlite"):
            return f"{self.kind}:///{self.path}?{tail}"
        return self.path or {"sql": "an SQL query", "table": "columns in memory"}.get(self.kind, "a frame in memory")

    @property
    def consequence(self) -> str | None:
        """What a query that nobody judged, or an engine that is not built in, means for the guarantee; else None.

        >>> print(Source.parse("sqlite:///a.db?table=v", acknowledge_sql=True).consequence)
        The table 'v' was acknowledged and not checked: if it mixes the records of different people or moves items, no
        promise of this statement holds.
        """
        told = declared(f"engine of {self.kind!r}", ENGINES.owner(self.kind), "its counts")
        if self.acknowledged and (self.sql is not None or self.table is not None):
            told.insert(0, _UNCHECKED.format("The query" if self.sql is not None else f"The table {self.table!r}"))
        if self.kind == "counts":
            told.append(_COUNTED)
        return " ".join(told) or None

    @property
    def parameters(self) -> dict[str, str]:
        """What tells this source from others, for a release's key and the ledger: no secret, and the whole query.

        >>> Source.parse("visits.csv", version="2026-10").parameters
        {'source': 'visits.csv', 'version': '2026-10'}
        """
        told = {"source": self.text, "sql": self.sql, "consequence": self.consequence, "version": self.version}
        told |= {"acknowledged": "yes" if self.acknowledged else None}
        told |= {"encoding": self.encoding if self.encoding != "utf-8" else None}
        return {name: value for name, value in told.items() if value is not None}

    def files(self) -> list[str]:
        """The files that the path names, sorted; a missing one is refused with the nearest name in its folder."""
        path = str(self.path)
        if plain_file(path, "The source").is_file():
            return [path]
        if Path(path).is_dir():
            return _files_below(path)[self.kind]
        results = sorted(x for x in glob.glob(path, recursive=True) if Path(x).is_file())
        if results:
            return results
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


def _plain_encoding(text: str) -> Literal["utf-8", "latin-1"]:
    plain = text.lower().replace("_", "-").replace(" ", "-")
    if plain in ("latin-1", "latin1", "iso-8859-1"):
        return "latin-1"
    return "utf-8" if plain in ("utf-8", "utf8") else text  # type: ignore[return-value]


def _files_below(folder: str) -> dict[str, list[str]]:
    """The files in a folder and below by their format; hidden ones, and those that start with _, are no records."""
    result: dict[str, list[str]] = {"csv": [], "parquet": []}
    for path in sorted(Path(folder).rglob("*")):
        hidden = any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
        stem = path.name.lower()
        for packed in _PACKED:
            stem = stem.removesuffix(packed)
        kind = _SUFFIXES.get(Path(stem).suffix)
        if kind is not None and not hidden and path.is_file():
            result[kind].append(str(path))
    return result


def _folder(name: str) -> tuple[str, str]:
    result = _files_below(name)
    kinds = [kind for kind in ("csv", "parquet") if result[kind]]
    if len(kinds) == 1:
        return kinds[0], name
    raise ParameterError(
        f"The folder {name!r} holds {'text and Parquet files' if kinds else 'no text or Parquet files'}.",
        allowed="a folder whose files are all of one format",
        fix=f"{name.rstrip('/')}/*.parquet",
    )
