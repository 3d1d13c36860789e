"""Where time would grow all of a sudden: matrices of all pairs, distances on graphs, odd norms, a million items.

Each figure is CPU seconds of one call in this process, imports aside, from what a person writes: studies on spaces that
are built anew, planned as ``barrow plan`` plans them; distances between two random histograms on all items; noise of
one vector. ``init`` with automatic cells is a fresh process, as a person types it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

import barrow as bw
from barrow.errors import BarrowError
from barrow.noise import Center, rounded_knorm
from benchmarks._timing import finish
from benchmarks.start import LINE, MAP, PEOPLE, RECORDS, cpu

AUTO = {
    "line": [*LINE, "--space", 'line(low=0, high=24, step="auto", unit="hours")'],
    "earth": [*MAP, "--space", 'earth(box=(40, -74, 41, -73), cell="auto")'],
}


def spent(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    before = time.process_time()
    work()
    return time.process_time() - before


def refused(work: Callable[[], object]) -> None:
    """Fail unless it is refused."""
    try:
        work()
    except BarrowError:
        return
    raise SystemExit("what should be refused was planned")


def square(side: int) -> bw.Graph:
    """Streets of equal length, as a graph that knows nothing of coordinates."""
    across = [(f"{i},{j}", f"{i + 1},{j}", 1.0) for i in range(side - 1) for j in range(side)]
    return bw.Graph([*across, *((f"{i},{j}", f"{i},{j + 1}", 1.0) for i in range(side) for j in range(side - 1))])


def items(space: bw.Space) -> object:
    """A plan of one randomised item of each person, by a matrix over all items."""
    asked = {"kind": "items", "items": 1, "randomiser": "exponential"}
    return bw.Study(space, ["all, 0.1, 0.5"], users=10_000, questions=[asked], model="local").plan()


def distances(space: bw.Space) -> Callable[[], object]:
    """The earth mover's distance between two random histograms."""
    numbers = np.random.default_rng(20261118)
    one, other = numbers.dirichlet(np.ones(space.items), size=2)
    return lambda: bw.emd(space, one, other)


def odd_norm(power: Fraction, size: int) -> float:
    """Microseconds a coordinate of one vector."""
    zeros = Center.from_integers(np.zeros(size, dtype=np.int64))
    rounded_knorm(zeros, 1, power)
    return min(spent(lambda: rounded_knorm(zeros, 1, power)) for _ in range(5)) / size * 1e6


def started(people: int) -> dict[str, float]:
    """CPU seconds of ``barrow init`` with automatic cells for so many people, fresh processes with warm bytecode."""
    barrow, result = str(Path(sys.executable).with_name("barrow")), {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"PYTHONPYCACHEPREFIX": str(place / "bytecode"), "XDG_CACHE_HOME": str(place / "cache")}
        records = RECORDS.replace("range % 100 ", f"range % {people} ").replace("range(1000)", f"range({10 * people})")
        make = f"import duckdb; duckdb.sql({records!r}).write_parquet('records.parquet')"
        subprocess.run([sys.executable, "-c", make], cwd=place, check=True)
        common = [barrow, "init", "../records.parquet", "--user", "person", "--users", str(people), "--dataset", "x"]
        for name, options in AUTO.items():
            times = []
            for turn in range(3):  # the first one warms bytecode
                here = place / f"{name}{turn}"
                here.mkdir()
                times.append(cpu([*common, *options, "--question", "histogram"], here, environment))
            result[f"init_{name}_{people}_seconds"] = round(min(times[1:]), 2)
    return result


def main() -> None:
    """Measure everything; ``--long`` plans a million items too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="plan histograms of 1,000,000 items too")
    request = parser.parse_args()
    million = "line(low=0, high=999999, step=1)"
    too_many = "line(low=0, high=9999999, step=1)"

    def histogram(space: str) -> object:
        return bw.Study(space, ["all, 0.01, 0.5"], users=10_000, questions=["histogram"]).plan()

    histogram("line(low=0, high=9, step=1)")  # loads what is needed
    result = {
        "items_graph_1024_seconds": spent(lambda: items(square(32))),
        "items_grid_1024_seconds": spent(lambda: items(bw.Euclidean([0, 0], [1, 1], step=1 / 32))),
        "items_graph_10000_seconds": spent(lambda: items(square(100))),
        "items_grid_10000_seconds": spent(lambda: items(bw.Euclidean([0, 0], [1, 1], step=1 / 100))),
        "emd_graph_10000_seconds": spent(distances(square(100))),
        "emd_grid_1024_seconds": spent(distances(bw.Euclidean([0, 0], [1, 1], step=1 / 32))),
        "refusal_seconds": max(
            spent(lambda: refused(lambda: histogram(too_many))), spent(lambda: refused(lambda: items(square(120))))
        ),
        "million_mean_seconds": spent(
            lambda: bw.Study(million, ["all, 0.01, 0.5"], users=10_000, questions=["mean"]).plan()
        ),
        **({"million_histogram_seconds": spent(lambda: histogram(million))} if request.long else {}),
        **{f"knorm_{name}_us": odd_norm(power, 100) for name, power in (("3", Fraction(3)), ("3_2", Fraction(3, 2)))},
    }
    finish({**{key: round(value, 3) for key, value in result.items()}, **started(PEOPLE), **started(100 * PEOPLE)})


if __name__ == "__main__":
    main()
