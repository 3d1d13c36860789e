"""What counting costs inside each engine: our whole ``count`` against the fastest bare statement for the same integers.

The records: ten for each user on average (skewed), 10,000 items of skewed popularity, two integer columns, the users
mixed up. Bare statements say how often each item occurs among users of each size, without checks, spaces or refusals;
the fastest of several ways to write it is the bar. Engines are measured one after another, candidates in turns.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from barrow.engines import Columns, DuckDBEngine
from barrow.engines.sql.postgres import PostgresEngine
from barrow.spaces import Discrete, Line
from benchmarks._timing import finish

ITEMS = 10_000
COLUMNS = Columns("uid", "item")
_SIZES = "(SELECT uid, count(*) AS m FROM {table} GROUP BY uid)"
BARE = {
    "join": f"SELECT item, m, count(*) AS c FROM {{table}} JOIN {_SIZES} s USING (uid) GROUP BY item, m",
    "window": (
        "SELECT item, m, count(*) AS c FROM (SELECT item, count(*) OVER (PARTITION BY uid) AS m FROM {table}) q "
        "GROUP BY item, m"
    ),
}
FURTHER = ("benchmarks._engines_sizes", "benchmarks._engines_spark")
"""Modules with ``MEASURES``: by name, (rows, folder, repeats) -> figures, where their engine is there."""


def space() -> Discrete:
    """The public space of the benchmark: labels "0" to "9999"."""
    return Discrete([str(i) for i in range(ITEMS)])


def select(rows: int) -> str:
    """The records, in DuckDB's SQL."""
    users = max(1, rows // 10)
    who = f"floor({users} * pow((hash(i + 17) % 1000003) / 1000003.0, 1.5) + hash(i) % 7)"
    item = f"floor({ITEMS} * pow((hash(i) % 1000003) / 1000003.0, 3))"
    return f"SELECT CAST({who} AS INTEGER) AS uid, CAST({item} AS INTEGER) AS item FROM range({rows}) r(i)"


def make(rows: int, folder: Path) -> Path:
    """The Parquet file of ``rows`` rows in ``folder``; made once."""
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"engines-{rows}.parquet"
    if not path.exists():
        partial = path.with_suffix(".partial")
        with duckdb.connect() as connection:
            connection.execute(f"COPY ({select(rows)}) TO '{partial}' (FORMAT parquet, ROW_GROUP_SIZE 1000000)")
        partial.rename(path)
    return path


def ratio(calls: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each call, in turns, and of ``ours`` over the best of the bare statements; and of processors.

    Other work on the machine makes all calls slower, but hardly changes what they cost in processor seconds.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    costs: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start, spent = time.perf_counter(), processor_seconds()
            call()
            times[name].append(time.perf_counter() - start)
            costs[name].append(processor_seconds() - spent)
    figures: dict[str, float] = {}
    for tail, values in (("", times), ("_cpu", costs)):
        medians = {name: statistics.median(x) for name, x in values.items()}
        bare = min(seconds for name, seconds in medians.items() if name in BARE)
        figures["ratio" + tail] = round(medians["ours"] / bare, 3)
        figures |= {name + tail: round(seconds, 3) for name, seconds in medians.items()}
    return figures


def processor_seconds() -> float:
    """What this process and all that descend from it have used of the processors."""
    parents: dict[int, int] = {}
    used: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended; whoever waited for it counts it
            continue
        parents[int(place.name)] = int(fields[1])
        used[int(place.name)] = sum(map(int, fields[11:15]))

    def ours(pid: int) -> bool:
        while pid > 1 and pid != os.getpid():
            pid = parents.get(pid, 0)
        return pid == os.getpid()

    return sum(ticks for pid, ticks in used.items() if ours(pid)) / os.sysconf("SC_CLK_TCK")


def measure_duckdb(rows: int, folder: Path, repeats: int) -> dict[str, Any]:
    """The embedded engine on a Parquet file: labels by whole numbers, and doubles on a line."""
    import duckdb

    path = make(rows, folder)
    connection = duckdb.connect()

    def bare(name: str, table: str) -> Callable[[], object]:
        return lambda: connection.execute(BARE[name].format(table=table)).fetchnumpy()

    whole = f"read_parquet('{path}')"
    names = [name for name in BARE if name != "window" or rows <= 2 * 10**7]  # the window holds every row at once
    labels = ratio(
        {"ours": lambda: DuckDBEngine(progress=False).count(path, COLUMNS, space())}
        | {name: bare(name, whole) for name in names},
        repeats,
    )
    doubles = folder / f"engines-{rows}-real.parquet"
    if not doubles.exists():
        connection.execute(
            f"COPY (SELECT uid, item + 0.5::DOUBLE AS item FROM {whole}) TO '{doubles}' (FORMAT parquet)"
        )
    line = Line(0, ITEMS, step=1, cells=True)
    reals = ratio(
        {"ours": lambda: DuckDBEngine(progress=False).count(doubles, COLUMNS, line)}
        | {name: bare(name, f"read_parquet('{doubles}')") for name in names},
        repeats,
    )
    connection.close()
    return {
        "duckdb_vs_groupby": labels["ratio"],
        "duckdb_vs_groupby_cpu": labels["ratio_cpu"],
        "duckdb_real_vs_groupby": reals["ratio"],
        "duckdb": labels,
    }


def measure_postgres(rows: int, folder: Path, repeats: int) -> dict[str, Any]:
    """A throw-away server on a socket; its table is filled from the same records."""
    cluster_module = importlib.import_module("tests.postgres_cluster")
    why = cluster_module.unavailable()
    if why is not None:
        return {"postgres_skipped": why}
    psycopg = importlib.import_module("psycopg")
    cluster = cluster_module.Cluster("fsync = off\nshared_buffers = 256MB\nwork_mem = 256MB\nmax_wal_size = 4GB\n")
    cluster.start()
    try:
        with psycopg.connect(cluster.conninfo, autocommit=True) as connection:
            connection.execute("CREATE UNLOGGED TABLE visits (uid int, item int)")
            _copy(connection, make(rows, folder))
            connection.execute("ANALYZE visits")
            connection.execute("CREATE ROLE reader LOGIN; GRANT SELECT ON visits TO reader")
            source = f"postgresql://reader@/postgres?host={quote(str(cluster.sockets))}&table=visits"
            counted = PostgresEngine().count(source, COLUMNS, space())
            if counted != DuckDBEngine(progress=False).count(make(rows, folder), COLUMNS, space()):
                raise RuntimeError("Postgres and DuckDB count differently")
            calls: dict[str, Callable[[], object]] = {"ours": lambda: PostgresEngine().count(source, COLUMNS, space())}
            for name, sql in BARE.items():
                calls[name] = lambda sql=sql: connection.execute(sql.format(table="visits"), binary=True).fetchall()  # type: ignore[misc]
            figures = ratio(calls, repeats)
    finally:
        cluster.stop()
    speed = importlib.import_module("tests.faults.postgres").throughput(10)
    payments = round(1000 * speed["payments"] / max(1, speed["milliseconds"]), 1)
    return {
        "postgres_vs_groupby": figures["ratio"],
        "postgres_vs_groupby_cpu": figures["ratio_cpu"],
        "ledger_postgres_per_second": payments,
        "postgres": figures,
    }


def _copy(connection: Any, path: Path) -> None:
    import duckdb

    with connection.cursor().copy("COPY visits FROM STDIN") as copy, duckdb.connect() as reader:
        rows = reader.execute(f"SELECT uid || chr(9) || item || chr(10) FROM read_parquet('{path}')")
        while piece := rows.fetchmany(100_000):
            copy.write("".join(row[0] for row in piece))


def main() -> None:
    """Print the figures; the last line is one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--large", action="store_true", help="1e8 rows")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/barrow-bench"))
    parser.add_argument("--only", default=None, help="duckdb, postgres, spark, or sums-duckdb and so on")
    options = parser.parse_args()
    rows = 10**8 if options.large else int(options.rows)
    figures: dict[str, Any] = {"rows": rows}
    engines: dict[str, Callable[[int, Path, int], dict[str, Any]]] = {
        "duckdb": measure_duckdb,
        "postgres": measure_postgres,
    }
    for name in FURTHER:
        if importlib.util.find_spec(name) is not None:
            engines |= importlib.import_module(name).MEASURES
    for name, measure in engines.items():
        if options.only in (None, name):
            figures |= measure(rows, options.folder, options.repeats)
            print(json.dumps(figures, indent=1))
    figures["peak_gib"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)
    finish({name: value for name, value in figures.items() if not isinstance(value, dict)})


if __name__ == "__main__":
    main()
