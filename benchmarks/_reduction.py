"""Drawing 200 items from each of 1e5 users of 1e3 items, from Parquet: exactly, against a bare scan and inexact peers.

The scan only computes every user's number of records (SELECT user, count(*) GROUP BY user). DuckDB and Polars draw with
their own random numbers, which protect nobody; DuckDB draws without replacement, which is another law. Records lie in
the order of users, or mixed up.
"""

from __future__ import annotations

import importlib.util
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from barrow.engines import DuckDBEngine, Sampled
from benchmarks._release_engine import COLUMNS, ITEMS, PER_USER, make, space

SAMPLES = 200
ORDERS = ("sorted", "mixed")


def file_of(order: str, rows: int, folder: Path) -> Path:
    """The Parquet file with its records in that order; made once."""
    if order == "mixed":
        return make(rows, folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"visits-{rows}-sorted.parquet"
    if not path.exists():
        item = f"floor({ITEMS} * pow((hash(i) % 1000003) / 1000003.0, 3))"
        select = (
            f"SELECT CAST(i // {PER_USER} AS INTEGER) AS uid, CAST({item} AS INTEGER) AS item FROM range({rows}) r(i)"
        )
        partial = path.with_suffix(".partial")
        with duckdb.connect() as connection:
            connection.execute(f"COPY ({select}) TO '{partial}' (FORMAT parquet, ROW_GROUP_SIZE 1000000)")
        partial.rename(path)
    return path


def ours(path: Path) -> Sampled:
    """What the reduction does to read."""
    return DuckDBEngine(progress=False).sample(path, COLUMNS, space(), samples=SAMPLES)


def _scan(path: Path) -> object:
    with duckdb.connect() as connection:
        sql = f"SELECT uid, count(*) AS m FROM read_parquet('{path}') GROUP BY uid"
        return connection.execute(sql).fetchnumpy()


def _by_duckdb(path: Path) -> object:
    with duckdb.connect() as connection:
        return connection.execute(
            f"SELECT item, count(*) AS c FROM (SELECT unnest(l) AS item FROM (SELECT max_by(item, random(), {SAMPLES}) "
            f"AS l FROM read_parquet('{path}') GROUP BY uid)) GROUP BY item"
        ).fetchnumpy()


def _by_polars(path: Path) -> object:
    import polars as pl

    sample = pl.scan_parquet(path).group_by("uid").agg(pl.col("item").sample(SAMPLES, with_replacement=True))
    return sample.explode("item").group_by("item").len().collect(engine="streaming")


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _peak_gib(path: Path) -> float:
    """Peak memory of a fresh process that draws once."""
    command = [sys.executable, "-m", "benchmarks._reduction", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent)
    return float(done.stdout.splitlines()[-1])


def _own_peak_gib() -> float:
    """This process's peak; ru_maxrss would count the memory of the process that started it as well."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def figures(rows: int, folder: Path, *, repeats: int = 3, peers: bool = True) -> dict[str, object]:
    """Seconds of ours and of the scan, measured in turns; the peers once for each order."""
    result: dict[str, object] = {"reduction_rows": rows, "reduction_samples": SAMPLES}
    ratios = []
    for order in ORDERS:
        path = file_of(order, rows, folder)
        sample = ours(path)
        if int(sample.counts.sum()) != SAMPLES * (rows // PER_USER):
            raise RuntimeError("not every user gave so many samples")
        times: dict[str, list[float]] = {"ours": [], "scan": []}
        for _ in range(repeats):
            times["scan"].append(_seconds(lambda path=path: _scan(path)))  # type: ignore[misc]
            times["ours"].append(_seconds(lambda path=path: ours(path)))  # type: ignore[misc]
        mine, scan = statistics.median(times["ours"]), statistics.median(times["scan"])
        ratios.append(mine / scan)
        result |= {
            f"reduction_seconds_{order}": round(mine, 3),
            f"scan_seconds_{order}": round(scan, 3),
            f"reduction_vs_scan_{order}": round(mine / scan, 2),
            f"reduction_peak_gib_{order}": round(_peak_gib(path), 3),
        }
        text = f"{order:7}{rows:>13,} rows: ours {mine:6.2f} s, scan {scan:6.2f} s, ratio {mine / scan:5.2f}"
        if peers:
            theirs = {"duckdb": _seconds(lambda path=path: _by_duckdb(path))}  # type: ignore[misc]
            if importlib.util.find_spec("polars") is not None:
                theirs["polars"] = _seconds(lambda path=path: _by_polars(path))  # type: ignore[misc]
            result |= {f"{name}_sample_seconds_{order}": round(value, 3) for name, value in theirs.items()}
            text += "".join(f", {name} (inexact) {value:6.2f} s" for name, value in theirs.items())
        print(text, flush=True)
    # The worse of the two orders.
    return {"reduction_vs_scan": round(max(ratios), 2), **result}


if __name__ == "__main__":
    ours(Path(sys.argv[1]))
    print(_own_peak_gib())
