"""Every engine and every source passes the one suite."""

from __future__ import annotations

import csv
import gzip
import sqlite3

import duckdb
import numpy as np
import pytest

from barrow.engines import DuckDBEngine, MemoryEngine, Source
from barrow.testing.cases import pytest_generate_tests
from barrow.testing.engines import PAIRS, EngineSuite

__all__ = ["pytest_generate_tests"]


def quiet():
    return DuckDBEngine(progress=False, threads=2)


def fill(connection, names, rows, numbers):
    types = ["VARCHAR", *("DOUBLE" if x else "VARCHAR" for x in numbers)]
    connection.execute("CREATE TABLE t (" + ", ".join(f"{n} {t}" for n, t in zip(names, types, strict=True)) + ")")
    if rows:
        lists = [list(column) for column in zip(*rows, strict=True)]
        picks = ", ".join(f"unnest(${i + 1}::{t}[])" for i, t in enumerate(types))
        connection.execute(f"INSERT INTO t SELECT {picks}", lists)


def write_parquet(path, names, rows, numbers):
    with duckdb.connect() as connection:
        fill(connection, names, rows, numbers)
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
    return str(path)


def write_arrow_parquet(path, names, rows, numbers):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    types = [pa.string(), *(pa.float64() if x else pa.string() for x in numbers)]
    columns = [[row[i] for row in rows] for i in range(len(names))]
    pq.write_table(pa.table({n: pa.array(c, t) for n, c, t in zip(names, columns, types, strict=True)}), path)
    return str(path)


def write_csv(stream, names, rows):
    writer = csv.writer(stream)
    writer.writerow(names)
    for row in rows:
        writer.writerow(["" if x is None else repr(x) if isinstance(x, float) else x for x in row])


class TestMemoryLists(EngineSuite):
    pairs = PAIRS
    lost = 99

    def make(self, tmp_path, names, rows, numbers):
        return MemoryEngine(), {name: [row[i] for row in rows] for i, name in enumerate(names)}


class TestMemoryArrays(EngineSuite):
    def make(self, tmp_path, names, rows, numbers):
        columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
        table = {
            name: np.array([np.nan if x is None else x for x in columns[name]], dtype=np.float64)
            for name, number in zip(names[1:], numbers, strict=True)
            if number
        }
        return MemoryEngine(), columns | table


class TestParquet(EngineSuite):
    def make(self, tmp_path, names, rows, numbers):
        return quiet(), write_parquet(tmp_path / "t.parquet", names, rows, numbers)


class TestArrowParquet(EngineSuite):
    """Files whose statistics leave out NaN, as Arrow and Spark write them."""

    pairs = PAIRS
    lost = 99

    def make(self, tmp_path, names, rows, numbers):
        return quiet(), write_arrow_parquet(tmp_path / "t.parquet", names, rows, numbers)


class TestManyParquetFiles(EngineSuite):
    def make(self, tmp_path, names, rows, numbers):
        for i in range(5):
            write_parquet(tmp_path / f"part-{i}.parquet", names, rows[i::5], numbers)
        return quiet(), str(tmp_path / "part-*.parquet")


class TestCsv(EngineSuite):
    pairs = PAIRS

    def make(self, tmp_path, names, rows, numbers):
        path = tmp_path / "t.csv"
        with path.open("w", newline="", encoding="utf-8") as stream:
            write_csv(stream, names, rows)
        return quiet(), path


class TestPackedCsvFiles(EngineSuite):
    def make(self, tmp_path, names, rows, numbers):
        for i in range(3):
            with gzip.open(tmp_path / f"{i}.csv.gz", "wt", newline="", encoding="utf-8") as stream:
                write_csv(stream, names, rows[i * len(rows) // 3 : (i + 1) * len(rows) // 3])
        return quiet(), str(tmp_path / "*.csv.gz")


class TestDuckDBTable(EngineSuite):
    def make(self, tmp_path, names, rows, numbers):
        path = tmp_path / "it's.db"
        with duckdb.connect(str(path)) as connection:
            fill(connection, names, rows, numbers)
        return quiet(), f"duckdb:///{path}?table=t"


class TestSqliteTable(EngineSuite):
    pairs = PAIRS

    def make(self, tmp_path, names, rows, numbers):
        path = tmp_path / "t.db"
        with sqlite3.connect(path) as connection:
            connection.execute(f"CREATE TABLE t ({', '.join(names)})")
            connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", rows)
        connection.close()
        return quiet(), f"sqlite:///{path}?table=t"


class TestQueryOverFile(EngineSuite):
    def make(self, tmp_path, names, rows, numbers):
        path = write_parquet(tmp_path / "t.parquet", names, rows, numbers)
        return quiet(), Source.parse(path, sql="SELECT * FROM records;")


class TestAcknowledgedQuery(EngineSuite):
    def make(self, tmp_path, names, rows, numbers):
        path = write_parquet(tmp_path / "t.parquet", names, rows, numbers)
        return quiet(), Source.parse(path, sql="SELECT * FROM records WHERE 1 = 1", acknowledge_sql=True)


class FrameSuite(EngineSuite):
    def arrow(self, names, rows, numbers):
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("narwhals")
        types = [pa.string(), *(pa.float64() if x else pa.string() for x in numbers)]
        columns = [[row[i] for row in rows] for i in range(len(names))]
        return pa.table({n: pa.array(c, type=t) for n, c, t in zip(names, columns, types, strict=True)})


class TestArrow(FrameSuite):
    def make(self, tmp_path, names, rows, numbers):
        return quiet(), self.arrow(names, rows, numbers)


class TestPandas(FrameSuite):
    def make(self, tmp_path, names, rows, numbers):
        pytest.importorskip("pandas")
        return quiet(), self.arrow(names, rows, numbers).to_pandas()


class TestPolars(FrameSuite):
    def make(self, tmp_path, names, rows, numbers):
        pl = pytest.importorskip("polars")
        return quiet(), pl.from_arrow(self.arrow(names, rows, numbers))


class TestLazyPolars(FrameSuite):
    def make(self, tmp_path, names, rows, numbers):
        pl = pytest.importorskip("polars")
        return quiet(), pl.from_arrow(self.arrow(names, rows, numbers)).lazy()


class TestFrameInMemoryEngine(FrameSuite):
    def make(self, tmp_path, names, rows, numbers):
        return MemoryEngine(), self.arrow(names, rows, numbers)


del EngineSuite, FrameSuite
