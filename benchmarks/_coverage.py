"""How often intervals of decoded histograms hold: nine populations on a grid, the bundled flights, a line, a tree.

A histogram is released with seeded noise from a population that is known; its intervals come from the released values
alone (:mod:`barrow.mechanisms.item_intervals`). Counted are items that stand out of the noise, whose intervals have two
ends, and apart from them the others, of which only the upper end is said.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from barrow.mechanisms.histograms import HistogramNoise, histogram_noise
from barrow.spaces import Clustered, Earth, Line, Space
from benchmarks._intervals_truth import Held, measure
from benchmarks._multiscale import ALPHA, SQUARE, populations


def flights() -> tuple[Space, Any]:
    """The bundled flights, as shares of 100 km cells: the mean over aircraft."""
    import duckdb

    from barrow.demo.examples import NORTH_AMERICA, bundled

    earth = Earth(box=NORTH_AMERICA, cell=100)
    with duckdb.connect() as connection:
        rows = connection.execute('SELECT "user", lat, lon FROM read_parquet(?)', [str(bundled("flights.parquet"))])
        columns = rows.fetchnumpy()
    items = earth.encode(np.column_stack([columns["lat"], columns["lon"]]).tolist())
    _, person = np.unique(columns["user"], return_inverse=True)
    weights = 1.0 / np.bincount(person)[person]
    result = np.bincount(items, weights=weights, minlength=earth.items)
    return earth, result / result.sum()


def along(space: Space) -> list[Any]:
    """Zipf, two hills, and nearly all at a few items."""
    k = np.arange(space.items)
    hills = np.exp(-(((k - 0.3 * len(k)) / (0.08 * len(k))) ** 2)) + 0.01
    few = np.where(k % 7 == 3, 1.0, 0.02)
    return [result / result.sum() for result in (1.0 / (k + 1.0), hills, few)]


def cases(users: int = 10**4) -> dict[str, list[tuple[HistogramNoise, Any]]]:
    """Every case: a mechanism and a population."""
    grid = histogram_noise(SQUARE, "edges", ALPHA, users=users)
    earth, where = flights()
    line, groups = Line(0, 100, step=1), Clustered.grid(10, 10, r=0.05)
    return {
        "grid": [(grid, truth) for truth in populations()],
        "flights": [(histogram_noise(earth, "edges", 100, users=4043), where)],
        "line": [(histogram_noise(line, "edges", ALPHA, users=users), truth) for truth in along(line)],
        "tree": [(histogram_noise(groups, "tree", ALPHA, users=users), truth) for truth in along(groups)],
    }


def figures(repeats: int = 3) -> dict[str, float]:
    """The shares that held, by case and in all; the worst case apart."""
    everything, worst = Held(), 1.0
    for name, pairs in cases().items():
        here = Held()
        for i, (built, truth) in enumerate(pairs):
            here.add(measure(built, truth, repeats, 1000 * i))
        out, limits = (here.figures().get(sort, {"count": 0, "held": 1.0}) for sort in ("standing_out", "limits"))
        lines = [f"{each['held']:.1%} of {each['count']:,}" for each in (out, limits)]
        print(f"{name}: {lines[0]} intervals, {lines[1]} upper limits")
        worst = min(worst, out["held"])
        everything.add(here)
    result = everything.figures()
    return {
        "intervals_held": result["standing_out"]["held"],
        "intervals_held_least": worst,
        "limits_held": result["limits"]["held"],
    }


if __name__ == "__main__":
    print(figures())
