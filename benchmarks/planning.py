"""How long plans take: densities on large grids, histograms of thousands of cells, a small comparison, a large release.

Modules are loaded and one small plan of each kind is made beforehand, so that what is measured is planning.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from barrow.ledger import Ledger
from barrow.spaces import Clustered, Earth, Line
from barrow.study import Study, read
from benchmarks._timing import finish

US = (24.5, -125.0, 49.5, -66.5)
PROMISES = ["1 of 30, 100 km, 0.5", "all, 20 km, 0.5"]
USERS = 10_000


def on_map(cell: float) -> Study:
    """A study about a map of the United States."""
    return Study(Earth(box=US, cell=cell), PROMISES, users=USERS, dataset="places")


def warm() -> None:
    """Load what plans need, once."""
    small = Study(Earth(box=(40, -75, 42, -72), cell=10), PROMISES, users=USERS)
    small.plan("histogram")
    small.plan("density(bandwidth='40 km')")
    Study(Line(0, 4, step=1), alpha=25, users=100).compare("histogram")


def seconds(call: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def release_large(folder: Path) -> float:
    """Plan, read, draw, decode and write a histogram of about 36,000 cells."""
    import duckdb

    rng = np.random.default_rng(0)
    lat, lon = rng.uniform(25, 49, 200_000), rng.uniform(-124, -67, 200_000)
    file = folder / "places.parquet"
    table = {"lat": lat, "lon": lon, "uid": rng.integers(0, USERS, 200_000)}
    connection = duckdb.connect()
    connection.register("t", table)
    connection.execute(f"COPY (SELECT * FROM t) TO '{file}' (FORMAT parquet)")
    study = on_map(20).replace(questions="histogram")
    ledger = Ledger.create(folder / "places.ledger", study)
    data = read(str(file), user="uid", item=["lat", "lon"])
    return seconds(lambda: study.release("histogram", data, ledger=ledger, out=folder / "out"))


def main() -> None:
    """Measure everything once."""
    warm()
    result: dict[str, float] = {}
    small = Clustered.grid(6, 4, r=0.1)
    plans: dict[str, Callable[[], object]] = {
        "density_wide_seconds": lambda: on_map(20).plan("density(bandwidth='1000 km')"),
        "density_200k_seconds": lambda: on_map(8.5).plan("density(bandwidth='50 km')"),
        "density_1e6_seconds": lambda: on_map(3.8).plan("density(bandwidth='50 km')"),
        "histogram_7k_seconds": lambda: on_map(45.6).plan("histogram"),
        "compare_small_seconds": lambda: Study(small, ["1/10, 0.5, 0.4"], users=USERS).compare("histogram"),
        "line_small_seconds": lambda: Study(Line(0, 100, step=1), ["all, 0.05, 0.5"], users=USERS).plan("histogram"),
    }
    for name, call in plans.items():
        result[name] = round(seconds(call), 3)
        print(f"{name:32} {result[name]:8.3f}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        result["release_us_cell20_seconds"] = round(release_large(Path(folder)), 3)
    finish(result)


if __name__ == "__main__":
    main()
