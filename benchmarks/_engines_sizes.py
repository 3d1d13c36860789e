"""Sums for ``scripts/bench engines`` where people differ much in size: lognormal, Pareto; texts and UUIDs as ids.

Ours is the whole ``sums`` on a Parquet file with 1e5 items, in a process of its own; bare is DuckDB's own
``SUM(1.0/m)`` with sizes joined, without checks, spaces or refusals. Figures are ratios of processor seconds, rows that
leave the engine for each item, and the peak of memory of the process.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.engines import processor_seconds

ITEMS = 100_000
_NORMAL = (
    "sqrt(-2 * ln(((hash(u) % 1000003) + 1) / 1000004.0)) * cos(6.283185307 * ((hash(u + 99) % 1000003) / 1000003.0))"
)
SIZES = {
    "lognormal": f"exp(6.2 + 1.2 * {_NORMAL})",
    "pareto": "pow(((hash(u) % 1000003) + 1) / 1000004.0, -1 / 1.1) * 120",
}
CASES = {
    "lognormal": ("lognormal", "CAST(u AS INTEGER)", "CAST(k AS INTEGER)"),
    "pareto_text": ("pareto", "'person ' || u", "CAST(k AS INTEGER)"),
    "lognormal_uuid": ("lognormal", "CAST(md5(CAST(u AS VARCHAR)) AS UUID)", "CAST(k AS INTEGER)"),
    "lognormal_real": ("lognormal", "CAST(u AS INTEGER)", "k + CAST(0.5 AS DOUBLE)"),
}
"""The sizes of people, their ids, and the items."""


def measure(rows: int, folder: Path, repeats: int) -> dict[str, Any]:
    """Each case in a process of its own."""
    figures: dict[str, Any] = {}
    for name in CASES:
        path = make(name, rows, folder)
        call = [sys.executable, "-m", "benchmarks._engines_sizes", name, str(path), str(repeats)]
        done = subprocess.run(call, capture_output=True, text=True, check=True)
        figures |= {f"sums_{name}_{key}": value for key, value in json.loads(done.stdout).items()}
    return figures


def make(name: str, rows: int, folder: Path) -> Path:
    """The Parquet file of a case with about so many rows; made once."""
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    sizes, user, item = CASES[name]
    path = folder / f"sums-{name}-{rows}.parquet"
    if not path.exists():
        held = f"CAST(least(greatest(1, {SIZES[sizes]}), {rows} / 5) AS BIGINT)"
        records = (
            f"SELECT u, hash(i * 7 + u) % {ITEMS} AS k FROM (SELECT u, unnest(range({held})) AS i "
            f"FROM range({max(1, rows // 1000)}) r(u)) ORDER BY hash(i, u)"
        )
        with duckdb.connect() as session:
            session.execute(
                f"COPY (SELECT {user} AS uid, {item} AS item FROM ({records})) TO '{path}' (FORMAT parquet)"
            )
    return path


def most_memory() -> float:
    """The most that this process has held so far, in MiB; getrusage would count what its parent held, too."""
    return int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0]) / 1024


def one(name: str, path: Path, repeats: int) -> dict[str, float]:
    """Ours against the bare statement, in turns; the peak of memory is read before the bare one runs."""
    from barrow.engines import Columns, DuckDBEngine
    from barrow.spaces import Discrete, Line

    real = name.endswith("real")
    space = Line(0, ITEMS, step=1, cells=True) if real else Discrete([str(i) for i in range(ITEMS)])
    engine, columns = DuckDBEngine(progress=False), Columns("uid", "item")
    costs: dict[str, list[float]] = {"ours": [], "bare": []}
    sums = engine.sums(path, columns, space)
    peak = most_memory()
    import duckdb

    table = f"read_parquet('{path}')"
    sizes = f"(SELECT uid, count(*) AS m FROM {table} GROUP BY uid)"
    bare_sum = f"SELECT item, SUM(1.0 / m) FROM {table} JOIN {sizes} USING (uid) GROUP BY item"
    with duckdb.connect() as session:
        calls: dict[str, Callable[[], object]] = {
            "ours": lambda: engine.sums(path, columns, space),
            "bare": lambda: session.execute(bare_sum).fetchnumpy(),
        }
        for _ in range(repeats):
            for who, call in calls.items():
                start = processor_seconds()
                call()
                costs[who].append(processor_seconds() - start)
        (records,) = session.execute(f"SELECT count(*) FROM {table}").fetchone() or (0,)
    ours, bare = min(costs["ours"]), min(costs["bare"])
    return {
        "vs_sum_cpu": round(ours / bare, 2),
        "cpu_seconds": round(ours, 2),
        "rows_an_item": round((len(sums.items) + 1) / ITEMS, 3),
        "peak_mb": round(peak),
        "records": records,
    }


if __name__ == "__main__":
    print(json.dumps(one(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))
