# ruff: noqa: S608 - SQL is built here from quoted names and public numbers
"""From a source to a DataFrame, the kinds of its columns, and whether its files stayed as they were."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import numpy as np

from barrow.engines.addresses import spark_options
from barrow.engines.base import Columns
from barrow.engines.counts import PrivateTextError, refuse_changed, refuse_stopped
from barrow.engines.queries import GENERATED, VIRTUAL, Selection, admit, missing_table, refuse_view
from barrow.engines.source import Source
from barrow.engines.spark.session import guarded, pyspark, session_at, settings, stopped
from barrow.engines.sql.dialects import SPARK, Table
from barrow.errors import ParameterError

Array = np.ndarray[Any, np.dtype[Any]]

_KINDS = {
    "tinyint": "integer", "smallint": "integer", "int": "integer", "bigint": "integer", "float": "real",
    "double": "real", "string": "text", "char": "text", "varchar": "text", "boolean": "boolean", "date": "date",
    "timestamp": "instant", "timestamp_ntz": "local time", "time": "clock", "array": "nested", "map": "nested",
    "struct": "nested", "variant": "nested", "decimal": "decimal",
}  # fmt: skip
_FORMATS = ("parquet", "orc", "delta", "iceberg")
_HELD = (*_FORMATS, "hive", "hudi", "avro", "csv", "json", "text")
"""Providers of tables whose records lie in files; behind any other (jdbc) may be a query or a program."""
SETTINGS = {
    # year=007 in a path is the text "007", as for every engine.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # Statistics of files leave out NaN: a filter judged by them would keep a record or not by what others wrote.
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.orc.filterPushdown": "false",
}
"""What must hold while a source by its address is read: by Connect, a DataFrame is understood anew each time."""


def kind_of(type_text: str) -> str:
    """The kind of values of a Spark type."""
    first = type_text.partition("(")[0].partition("<")[0].partition(" ")[0].lower()
    return _KINDS.get(first, "other")


@dataclass
class SparkReader:
    """One DataFrame, seen by statements as a temporary view that only this reading uses."""

    session: Any
    frame: Any
    kinds: dict[str, str]
    header_is_sure: bool = True
    tag: str = field(default_factory=lambda: f"barrow_{uuid.uuid4().hex[:12]}")
    _views: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._view("records", self.frame)

    @property
    def relation(self) -> str:
        """What stands after FROM."""
        return self._views["records"]

    @property
    def forms(self) -> dict[str, str]:
        """How columns become numbers: by their kinds."""
        return self.kinds

    def table(self, name: str, columns: Table) -> None:
        """Let statements see public columns as a table, which is sent to all executors."""
        pa = pyspark("pyarrow")
        arrays = {
            k: pa.array(v.tolist(), pa.string()) if v.dtype == object else pa.array(v) for k, v in columns.items()
        }
        broadcast = pyspark("pyspark.sql.functions").broadcast

        def send() -> None:
            self._view(name, broadcast(self.session.createDataFrame(pa.table(arrays))))

        guarded(self.session, send)

    def _view(self, name: str, frame: Any) -> None:
        self._views[name] = f"{self.tag}_{name}"
        guarded(self.session, lambda: frame.createOrReplaceTempView(self._views[name]))

    def run(self, sql: str) -> Any:
        """The DataFrame of a statement."""
        for name, view in self._views.items():
            sql = sql.replace(f"JOIN {name} ON", f"JOIN {view} AS {name} ON")
        return self.session.sql(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The result of a small query."""
        return guarded(self.session, lambda: [tuple(row) for row in self.run(sql).collect()])

    def arrays(self, sql: str) -> dict[str, Array]:
        """The columns of a result of whole numbers."""
        return self.collected(guarded(self.session, lambda: self.run(sql)))

    def collected(self, frame: Any) -> dict[str, Array]:
        """The columns of a DataFrame, as the result stage of one job gives them."""
        table = guarded(self.session, frame.toArrow)
        return {name: table[name].to_numpy() for name in table.column_names}

    def pieces(self, sql: str, size: int) -> Iterator[Mapping[str, Array]]:
        """The same in pieces; the whole comes at once."""
        columns = self.arrays(sql)
        for start in range(0, len(columns["item"]), size):
            yield {name: column[start : start + size] for name, column in columns.items()}

    def close(self) -> None:
        """Drop the views."""
        for view in self._views.values():
            self.session.catalog.dropTempView(view)


def judged(source: Source, columns: Columns | None) -> Selection | None:
    """The selection that a source's query is; None without one, or where it is acknowledged."""
    if source.sql is None or source.acknowledged:
        return None
    return admit(source.sql, columns, backticks=True)


def session_of(source: Source) -> Any:
    """The session of a source."""
    if source.data is None:
        return session_at(str(source.path))
    if stopped(source.data.sparkSession):
        raise refuse_stopped()
    return source.data.sparkSession


def frame_of(session: Any, source: Source, selection: Selection | None) -> Any:
    """The DataFrame that a source is; no record is read."""
    if source.data is not None:
        return _whole(source.data)
    options = spark_options(str(source.path))[1]
    if source.sql is not None and selection is None and "path" not in options:
        return _understood(session, lambda: session.sql(f"SELECT * FROM ({_plain(source)}\n) AS given"))
    if "path" in options:
        if selection is not None and selection.table != ("records",):
            raise missing_table(".".join(selection.table), ["records"])
        frame = _files(session, options, source)
    else:
        frame = _table(session, source.table or ".".join(selection.table if selection else ()), source, options)
    if source.sql is None:
        return frame
    text = _plain(source) if selection is None else selection.sql(SPARK, "records", list(frame.columns))
    inside = text.replace("{", "{{").replace("}", "}}")
    query = f"WITH records AS (SELECT * FROM {{whole}}) SELECT * FROM ({inside}\n) AS given"
    return _understood(session, lambda: session.sql(query, whole=frame))


def _understood(session: Any, make: Callable[[], Any]) -> Any:
    """A DataFrame whose names and types are known; by Connect, it is only then that something can be wrong."""

    def look() -> Any:
        frame = make()
        _ = frame.schema
        return frame

    return guarded(session, look)


def _plain(source: Source) -> str:
    return str(source.sql).strip().rstrip(";")


def _whole(frame: Any) -> Any:
    if guarded(frame.sparkSession, lambda: frame.isStreaming):
        raise ParameterError(
            "The DataFrame is a stream, which never ends.",
            allowed="a DataFrame of a fixed table",
            fix="read a table that the stream writes to",
        )
    return frame


def refuse_twins(session: Any, names: Sequence[str], columns: Columns | None) -> None:
    """Refuse names that stand for several columns."""
    strict = session.conf.get("spark.sql.caseSensitive", "false") == "true"
    results = [name if strict else name.lower() for name in names]
    for name in () if columns is None else columns.all:
        if results.count(name if strict else name.lower()) > 1:
            raise ParameterError(
                f"There are several columns {name!r}; to this Spark session upper and lower case "
                + ("are two." if strict else "are the same."),
                allowed="columns of different names",
                fix=f'df.withColumnRenamed("{name}", …), or df.drop(…)',
            )


def _files(session: Any, options: Mapping[str, str], source: Source) -> Any:
    path = options["path"]
    name = options.get("format", "orc" if path.rstrip("/").endswith(".orc") else "parquet")
    if name not in _FORMATS or path.rstrip("/").endswith((".csv", ".tsv", ".json", ".gz")):
        raise ParameterError(
            "Text files are not read through Spark, which guesses their types.",
            allowed=f"format={', '.join(_FORMATS)}",
            fix="write Parquet, give a DataFrame from Python, or leave out spark:// and let DuckDB read them",
        )
    reader = session.read.format(name)
    if "snapshot" in options:
        reader = reader.option({"iceberg": "snapshot-id"}.get(name, "versionAsOf"), options["snapshot"])
    try:
        result = _understood(session, lambda: reader.load(path))
        _refuse_generated(session, path, result, f"delta.{SPARK.identifier(path)}" if name == "delta" else None, source)
        return result
    except PrivateTextError as error:
        if not any(word in str(error) for word in ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA")):
            raise
    raise ParameterError(
        f"There are no {name} files at the path {path!r}.",
        allowed="a file or folder that the executors can read",
        fix="check the path; /data/visits is on this machine, hdfs:// and s3a:// are elsewhere",
    )


def _table(session: Any, wanted: str, source: Source, options: Mapping[str, str]) -> Any:
    schema, _, _ = wanted.rpartition(".")
    quoted = ".".join(SPARK.identifier(part) for part in wanted.split("."))
    if not guarded(session, lambda: _exists(session, quoted)):
        listed = guarded(session, lambda: _listed(session, schema))
        raise missing_table(wanted, sorted(f"{schema}.{name}" if schema else name for name in listed))
    result = guarded(session, lambda: session.catalog.getTable(quoted))
    if (result.isTemporary or result.tableType == "VIEW") and not source.acknowledged:
        raise refuse_view(wanted)
    provider = "" if result.isTemporary else guarded(session, lambda: _provider(session, quoted))
    if provider not in _HELD and not source.acknowledged:
        raise refuse_view(wanted, VIRTUAL)
    pinned = options.get("snapshot") or guarded(session, lambda: _snapshot(session, quoted, provider))
    version = f" VERSION AS OF {pinned}" if pinned else ""
    frame = _understood(session, lambda: session.sql(f"SELECT * FROM {quoted}{version}"))
    _refuse_generated(session, wanted, frame, quoted if provider == "delta" else None, source)
    return frame


def _provider(session: Any, quoted: str) -> str:
    """By what a table is held, in small letters; the catalogue says it after all columns, whatever their names."""
    rows = session.sql(f"DESCRIBE TABLE EXTENDED {quoted}").collect()
    return next((str(row[1]).lower() for row in reversed(rows) if row[0] == "Provider"), "")


def _refuse_generated(session: Any, wanted: str, frame: Any, delta: str | None, source: Source) -> None:
    """Refuse columns that are computed from others. Delta does not show them, but says that a table may have some."""

    def look() -> bool:
        marks = [key.lower().replace("_", "") for field in frame.schema.fields for key in field.metadata or {}]
        if any(mark.endswith("generationexpression") for mark in marks):
            return True
        if delta is None:
            return False
        told = session.sql(f"DESCRIBE DETAIL {delta}").collect()[0].asDict()
        features = told.get("tableFeatures")
        # Before tables had features, those that writers of version 4 and later may write could have such columns.
        return int(told["minWriterVersion"]) >= 4 if features is None else "generatedColumns" in features

    if not source.acknowledged and guarded(session, look):
        raise refuse_view(wanted, GENERATED)


def _exists(session: Any, quoted: str) -> bool:
    try:
        return bool(session.catalog.tableExists(quoted))
    except pyspark("pyspark.errors").AnalysisException:  # of a name of more parts than its catalog has
        return False


def _listed(session: Any, schema: str) -> list[str]:
    try:
        return [str(table.name) for table in session.catalog.listTables(schema or None)]
    except Exception:
        return []


def _snapshot(session: Any, quoted: str, provider: str) -> str | None:
    """The id of a Delta or Iceberg table's present snapshot: all that is read is of this one."""
    if provider == "delta":
        return str(session.sql(f"DESCRIBE HISTORY {quoted} LIMIT 1").select("version").collect()[0][0])
    if provider == "iceberg":
        last = f"SELECT snapshot_id FROM {quoted}.refs WHERE name = 'main'"
        return next((str(row[0]) for row in session.sql(last).collect()), None)
    return None


def stamps(session: Any, frame: Any) -> Any:
    """Path, size and time of each file that a DataFrame reads; no content is read."""

    def look() -> Any:
        files = [unquote(name) for name in frame.inputFiles()]
        if not files:
            return None
        reader = session.read.format("binaryFile").option("recursiveFileLookup", "true")
        with settings(session, {"spark.sql.files.maxPartitionBytes": "1p"}):  # few tasks, for nothing is read
            result = reader.load(files).select("path", "length", "modificationTime").collect()
        return sorted(tuple(row) for row in result)

    return guarded(session, look)


def refuse_other(session: Any, frame: Any, before: Any) -> None:
    """Refuse files that are not what they were, or no longer there."""
    try:
        same = before is None or stamps(session, frame) == before
    except PrivateTextError:
        same = False
    if not same:
        raise refuse_changed()
