"""Reading: our ``count`` against the fastest bare DuckDB statement that gives the same integers from the same file.

The file has ``rows`` rows of two integer columns: 1000 records for each user, items 0 .. 999 of skewed popularity (item
floor(1000 u^3) for a pseudo-random u), the records of all users mixed up (neighbouring rows belong to different users,
the unfavourable order). ``sizes="skewed"`` gives users different numbers of records instead.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from barrow.engines import Columns, Counts, DuckDBEngine
from barrow.spaces import Discrete

ITEMS = 1000
PER_USER = 1000
COLUMNS = Columns("uid", "item")

_SIZES = "(SELECT uid, count(*) AS m FROM {file} GROUP BY uid)"
BARE = {
    "join": f"SELECT item, m, count(*) AS c FROM {{file}} JOIN {_SIZES} USING (uid) GROUP BY item, m",
    "common table": (
        "WITH s AS MATERIALIZED (SELECT uid, count(*) AS m FROM {file} GROUP BY uid) "
        "SELECT item, m, count(*) AS c FROM {file} JOIN s USING (uid) GROUP BY item, m"
    ),
    "two steps": (
        "CREATE OR REPLACE TEMP TABLE s AS SELECT uid, count(*) AS m FROM {file} GROUP BY uid; "
        "SELECT item, m, count(*) AS c FROM {file} JOIN s USING (uid) GROUP BY item, m"
    ),
    "window": (
        "SELECT item, m, count(*) AS c FROM (SELECT item, count(*) OVER (PARTITION BY uid) AS m FROM {file}) "
        "GROUP BY item, m"
    ),
}
"""Ways to write it in plain SQL; the fastest one is the bar."""


def space() -> Discrete:
    """The public space of the benchmark: labels "0" to "999"."""
    return Discrete([str(i) for i in range(ITEMS)])


def make(rows: int, folder: Path, *, sizes: str = "equal") -> Path:
    """The Parquet file of ``rows`` rows in ``folder``; made once."""
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"visits-{rows}-{sizes}.parquet"
    if path.exists():
        return path
    users = max(1, rows // PER_USER)
    # 7919 is prime: the users of neighbouring rows differ, and each user still gets the same number of rows.
    who = f"(i * 7919 + 12345) % {users}"
    if sizes == "skewed":
        who = f"floor({users} * pow((hash(i + 17) % 1000003) / 1000003.0, 2))"
    item = f"floor({ITEMS} * pow((hash(i) % 1000003) / 1000003.0, 3))"
    select = f"SELECT CAST({who} AS INTEGER) AS uid, CAST({item} AS INTEGER) AS item FROM range({rows}) r(i)"
    partial = path.with_suffix(".partial")
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({select}) TO '{partial}' (FORMAT parquet, ROW_GROUP_SIZE 1000000)")
    partial.rename(path)
    return path


def ours(path: Path) -> Counts:
    """What a release does to read."""
    return DuckDBEngine(progress=False).count(path, COLUMNS, space())


def measure(rows: int, folder: Path, *, repeats: int = 5, sizes: str = "equal") -> dict[str, float]:
    """Seconds, their ratio and peak memory; the integers are compared too."""
    import duckdb

    path = make(rows, folder, sizes=sizes)
    statements = {name: sql.format(file=f"read_parquet('{path}')") for name, sql in BARE.items()}
    if rows > 2 * 10**7:
        statements.pop("window")  # holds every row at once
    connection = duckdb.connect()
    calls: dict[str, Callable[[], object]] = {"ours": lambda: ours(path)}
    for name, sql in statements.items():
        calls[name] = lambda sql=sql: connection.execute(sql).fetchnumpy()  # type: ignore[misc]
    joined = connection.execute(statements["join"]).fetchnumpy()
    _compare(ours(path), {name: np.asarray(column) for name, column in joined.items()})
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    connection.close()
    medians = {name: statistics.median(values) for name, values in times.items()}
    bare = min(seconds for name, seconds in medians.items() if name != "ours")
    return {
        "rows": rows,
        "seconds": round(medians["ours"], 4),
        "groupby_seconds": round(bare, 4),
        "time_vs_groupby": round(medians["ours"] / bare, 3),
        "peak_gib": round(_peak_gib(path), 3),
        **{f"bare {name}": round(seconds, 4) for name, seconds in medians.items() if name != "ours"},
    }


def _compare(counts: Counts, bare: dict[str, np.ndarray]) -> None:
    order = np.lexsort((bare["m"], bare["item"]))
    same = (
        np.array_equal(counts.items, bare["item"][order])
        and np.array_equal(counts.sizes, bare["m"][order])
        and np.array_equal(counts.counts, bare["c"][order])
    )
    if not same:
        raise RuntimeError("our integers differ from the bare statement's")


def _peak_gib(path: Path) -> float:
    """Peak memory of a fresh process that reads the file once."""
    command = [sys.executable, "-m", "benchmarks._release_engine", "--peak", str(path)]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    return float(done.stdout)


def main() -> None:
    """Print the figures for some numbers of rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="*", default=[1e6, 1e7])
    parser.add_argument("--folder", type=Path, default=Path("/tmp/barrow-bench"))
    parser.add_argument("--sizes", choices=["equal", "skewed"], default="equal")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peak", type=Path, default=None)
    options = parser.parse_args()
    if options.peak is not None:
        ours(options.peak)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
        return
    for rows in options.rows:
        print(json.dumps(measure(int(rows), options.folder, repeats=options.repeats, sizes=options.sizes)))


if __name__ == "__main__":
    main()
