"""The portable text on further engines: DataFusion and ClickHouse order NaN in the other two ways.

They are no engines of barrow; that they agree shows that the text relies on nothing that is special to one engine.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools

import numpy as np
import pytest

from barrow.engines import Columns, MemoryEngine
from barrow.engines.conformance import every_case, items_in_python, items_in_sql
from barrow.engines.frames import frame_kinds
from barrow.engines.numbers import BLANKS
from barrow.engines.sql.dialects import Dialect
from barrow.engines.sql.pushdown import SqlEngine
from barrow.errors import DataError
from barrow.spaces import Circle, Discrete, Line
from barrow.testing.cases import pytest_generate_tests
from barrow.testing.engines import EngineSuite, as_list

__all__ = ["pytest_generate_tests"]
AT = Columns("uid", "at")
MOMENTS = [dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(1900, 2, 28, 0, 15), dt.datetime(2000, 2, 29),
           dt.datetime(2026, 3, 1, 0, 14, 59, 999999), dt.datetime(2026, 1, 5)]  # fmt: skip


class DataFusionDialect(Dialect):
    def micros(self, sql, kind):
        form = "Time64(Microsecond)" if kind == "clock" else "Timestamp(Microsecond, None)"
        return self.as_whole(f"arrow_cast({sql}, '{form}')")

    def parsed(self, sql):
        plain = f"replace(regexp_replace({sql}, {self.literal(f'[{BLANKS}]')}, '', 'g'), '_', '')"
        return f"CASE WHEN {self.in_grammar(sql)} THEN TRY_CAST({plain} AS DOUBLE) END"


class ClickHouseDialect(Dialect):
    def quotient(self, number, by):
        return f"intDiv({number}, {by})"

    def micros(self, sql, kind):
        return f"toUnixTimestamp64Micro(toDateTime64({sql}, 6, 'UTC'))"

    def parsed(self, sql):
        plain = f"replaceAll(replaceRegexpAll({sql}, {self.literal(f'[{BLANKS}]')}, ''), '_', '')"
        return f"CASE WHEN {self.in_grammar(sql)} THEN toFloat64OrNull({plain}) END"

    def matches(self, text, pattern):
        return f"match({text}, {self.literal(pattern)})"


DATAFUSION = DataFusionDialect("datafusion")
CLICKHOUSE = ClickHouseDialect(
    "clickhouse",
    double="Nullable(Float64)",
    whole="Nullable(Int64)",
    text="Nullable(String)",
    quote="`",
    backslash=True,
)


def arrow(columns):
    import pyarrow as pa

    if not isinstance(columns, dict):
        return columns
    texts = {k: pa.array(v.tolist(), pa.string()) for k, v in columns.items() if v.dtype == object}
    return pa.table({k: texts.get(k, pa.array(v) if k not in texts else None) for k, v in columns.items()})


class DataFusionReader:
    dialect = DATAFUSION
    relation, header_is_sure = "records", True

    def __init__(self, frame=None):
        datafusion = pytest.importorskip("datafusion", reason="datafusion is not installed")
        self.context = datafusion.SessionContext()
        self.kinds = self.forms = {}
        if frame is not None:
            self.kinds = self.forms = frame_kinds(frame)
            self.table("records", frame)

    def table(self, name, columns):
        batches = arrow(columns).combine_chunks().to_batches()
        if not batches:
            import pyarrow as pa

            batches = [pa.RecordBatch.from_pylist([], schema=arrow(columns).schema)]
        self.context.register_record_batches(name, [batches])

    def arrays(self, sql):
        table = self.context.sql(sql).to_arrow_table()
        return {name: table[name].to_numpy() for name in table.column_names}

    def rows(self, sql):
        return [tuple(row.values()) for row in self.context.sql(sql).to_arrow_table().to_pylist()]

    def pieces(self, sql, size):
        table = self.arrays(sql)
        for start in range(0, len(table["item"]), size):
            yield {name: column[start : start + size] for name, column in table.items()}


class ClickHouseReader(DataFusionReader):
    dialect = CLICKHOUSE
    names = itertools.count()

    def __init__(self, frame=None, folder=None):
        chdb = pytest.importorskip("chdb", reason="chdb is not installed")
        self.chdb, self.folder, self.there = chdb, folder, {}
        self.kinds = self.forms = {} if frame is None else frame_kinds(frame)
        if frame is not None:
            self.table("records", frame)

    def table(self, name, columns):
        import pyarrow.parquet as pq

        path = self.folder / f"{name}-{next(self.names)}.parquet"
        pq.write_table(arrow(columns), path)
        self.there[name] = f"file('{path}', Parquet)"

    def _ask(self, sql):
        import io

        import pyarrow.parquet as pq

        for name, path in self.there.items():
            sql = sql.replace(f"JOIN {name} ON", f"JOIN {path} AS {name} ON").replace(f"FROM {name})", f"FROM {path})")
        settings = (
            "SETTINGS join_use_nulls = 1, prefer_column_name_to_alias = 1, schema_inference_make_columns_nullable = 1"
        )
        return pq.read_table(io.BytesIO(self.chdb.query(f"{sql} {settings}", "Parquet").bytes()))

    def arrays(self, sql):
        table = self._ask(sql)
        return {name: table[name].to_numpy() for name in table.column_names}

    def rows(self, sql):
        return [tuple(row.values()) for row in self._ask(sql).to_pylist()]


class Foreign(SqlEngine):
    """The shared base on a reader of the tests."""

    name = "foreign"

    def __init__(self, reader, folder):
        self.reader, self.folder, self.dialect = reader, folder, reader.dialect

    @contextlib.contextmanager
    def _open(self, source, columns):
        yield self.reader(source.data) if self.folder is None else self.reader(source.data, self.folder)


class DialectSuite(EngineSuite):
    numbered = False

    def make(self, tmp_path, names, rows, numbers):
        pa = pytest.importorskip("pyarrow")
        types = [pa.string(), *(pa.float64() if x else pa.string() for x in numbers)]
        columns = [[row[i] for row in rows] for i in range(len(names))]
        frame = pa.table({n: pa.array(c, type=t) for n, c, t in zip(names, columns, types, strict=True)})
        return self.engine(tmp_path), frame

    def test_items_are_those_of_the_spaces(self, tmp_path):
        for name, space, mode, form, values in every_case(300):
            reader = self.reader(tmp_path)
            result = items_in_sql(reader, reader.dialect, space, values, mode, form)
            assert np.array_equal(result, items_in_python(space, values, mode)), (name, mode, form)

    def test_moments_are_the_same_items(self, tmp_path):
        pa = pytest.importorskip("pyarrow")
        users = list(range(len(MOMENTS)))
        for column in (pa.array(MOMENTS, pa.timestamp("us")), pa.array([x.date() for x in MOMENTS], pa.date32())):
            for space in (Circle.hours(step=0.25), Circle.weekdays(), Line(-30000, 30000, step=1, unit="days")):
                wanted = MemoryEngine().count({"uid": users, "at": column.to_pylist()}, AT, space)
                frame = pa.table({"uid": users, "at": column})
                assert self.engine(tmp_path).count(frame, AT, space) == wanted


class TestDataFusion(DialectSuite):
    def engine(self, tmp_path):
        return Foreign(DataFusionReader, None)

    def reader(self, tmp_path):
        return DataFusionReader()


class TestByJoin(DialectSuite):
    """The same where users' sizes are joined to the records, and not counted by a window."""

    def engine(self, tmp_path):
        engine = Foreign(DataFusionReader, None)
        engine.shape = "join"
        return engine

    test_items_are_those_of_the_spaces = None  # sizes play no part in it

    def test_weights(self, tmp_path):
        pa = pytest.importorskip("pyarrow")
        columns, space = Columns("uid", "item", weight="n"), Discrete(["a", "b"])
        frame = pa.table({"uid": ["x", "x", "y"], "item": ["a", "b", "b"], "n": [3, 0, 2]})
        assert as_list(self.engine(tmp_path).count(frame, columns, space)) == [(0, 3, 3), (1, 2, 2)]
        frame = pa.table({"uid": ["x", "x"], "item": ["a", "b"], "n": [3, None]})
        with pytest.raises(DataError, match="not a whole number"):
            self.engine(tmp_path).count(frame, columns, space)


class TestClickHouse(DialectSuite):
    pairs = (("discrete", "error"), ("line", "nearest"), ("product", "default"))
    lost = 1

    def engine(self, tmp_path):
        return Foreign(ClickHouseReader, tmp_path)

    def reader(self, tmp_path):
        return ClickHouseReader(None, tmp_path)


del EngineSuite, DialectSuite
