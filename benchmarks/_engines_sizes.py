"""Sums for ``scripts/bench engines`` where people differ much in size: lognormal, Pareto; texts and UUIDs as ids.

Ours is the whole ``sums`` with 1e5 items, on DuckDB, Postgres and Spark; bare is the engine's own ``SUM(1.0/m)`` with
sizes joined, as a stranger writes it, without checks, spaces or refusals; where items are doubles, with the same cells.
Each engine and case has a process of its own, where both are run once before they are measured in turns. Figures are
ratios of processor seconds (those of servers included), rows that leave the engine for each item, and the most memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks._engines_sides import ITEMS, SIDES, Case, processors

_NORMAL = (
    "sqrt(-2 * ln(((hash(u) % 1000003) + 1) / 1000004.0)) * cos(6.283185307 * ((hash(u + 99) % 1000003) / 1000003.0))"
)
SIZES = {
    "lognormal": (f"exp(6.2 + 1.2 * {_NORMAL})", 1000),
    "pareto": ("pow(((hash(u) % 1000003) + 1) / 1000004.0, -1 / 1.1) * 120", 1000),
    "few": (f"exp(1.8 + {_NORMAL})", 10),
}
"""How many records a person u has, and how many rows are asked for by each person."""
_WHOLE, _HASH = "CAST(u AS INTEGER)", "CAST(md5(CAST(u AS VARCHAR)) AS UUID)"
CASES = {
    "lognormal": Case("lognormal", _WHOLE, "CAST(k AS INTEGER)"),
    "pareto_text": Case("pareto", "'person ' || u", "CAST(k AS INTEGER)", ids="text"),
    "lognormal_uuid": Case("lognormal", _HASH, "CAST(k AS INTEGER)", ids="uuid"),
    "lognormal_real": Case("lognormal", _WHOLE, "k + CAST(0.5 AS DOUBLE)", real=True),
    "many_people": Case("few", _WHOLE, "CAST(k AS INTEGER)"),
}


def measure(engine: str, rows: int, folder: Path, repeats: int) -> dict[str, Any]:
    """Each case on an engine, in a process of its own."""
    why = SIDES[engine].unavailable()
    if why is not None:
        return {f"sums_{engine}_skipped": why}
    figures: dict[str, Any] = {}
    for name in CASES:
        path = make(name, rows, folder, texts=engine == "spark")
        call = [sys.executable, "-m", "benchmarks._engines_sizes", engine, name, str(path), str(repeats)]
        done = subprocess.run(call, capture_output=True, text=True, check=True)
        figures |= {f"sums_{engine}_{name}_{key}": x for key, x in json.loads(done.stdout.splitlines()[-1]).items()}
    return figures


MEASURES = {f"sums-{engine}": partial(measure, engine) for engine in SIDES}
"""What ``scripts/bench engines --only`` knows them by."""


def make(name: str, rows: int, folder: Path, *, texts: bool = False) -> Path:
    """The Parquet file of a case with about so many rows, UUIDs as ``texts`` for Spark; made once."""
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    case = CASES[name]
    texts = texts and case.ids == "uuid"
    user = f"CAST({case.user} AS VARCHAR)" if texts else case.user
    size, each = SIZES[case.sizes]
    path = folder / f"sums-{name}{'-texts' if texts else ''}-{rows}.parquet"
    if not path.exists():
        held = f"CAST(least(greatest(1, {size}), {rows} / 5) AS BIGINT)"
        records = (
            f"SELECT u, hash(i * 7 + u) % {ITEMS} AS k FROM (SELECT u, unnest(range({held})) AS i "
            f"FROM range({max(1, rows // each)}) r(u)) ORDER BY hash(i, u)"
        )
        partial = path.with_suffix(".partial")
        with duckdb.connect() as session:
            session.execute(
                f"COPY (SELECT {user} AS uid, {case.item} AS item FROM ({records})) TO '{partial}' (FORMAT parquet)"
            )
        partial.rename(path)
    return path


def one(engine: str, name: str, path: Path, repeats: int) -> dict[str, float]:
    """Ours against the bare statements, in turns, by the least processor seconds of each."""
    import duckdb

    with SIDES[engine](CASES[name], path) as side:
        sums = side.ours()
        peak = side.peak_mb()
        calls = {"ours": side.ours, **side.bare()}
        for call in calls.values():
            call()
        costs: dict[str, list[float]] = {who: [] for who in calls}
        for _ in range(repeats):
            for who, call in calls.items():
                start = processors(side)
                call()
                costs[who].append(processors(side) - start)
        least = {who: min(seconds) for who, seconds in costs.items()}
    (records, people) = duckdb.execute(
        f"SELECT count(*), count(DISTINCT uid) FROM read_parquet('{path}')"
    ).fetchone() or (0, 0)
    others = {f"vs_{who}": round(least["ours"] / seconds, 2) for who, seconds in least.items() if who != "ours"}
    return {
        **others,
        "cpu_seconds": round(least["ours"], 2),
        "rows_an_item": round((len(sums.items) + 1) / ITEMS, 3),
        "peak_mb": round(peak),
        "records": records,
        "people": people,
    }


if __name__ == "__main__":
    print(json.dumps(one(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))))
