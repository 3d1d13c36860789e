"""How often intervals of decoded histograms hold: nine populations on a grid, the bundled flights, a line, a tree.

A histogram is released with seeded noise from a population that is known; its intervals come from the released values
alone (:mod:`barrow.planning.simulate`). Counted are items that stand out of the noise, whose intervals have two ends,
and apart from them the others, of which only the upper end is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.mechanisms.histograms import HistogramNoise, histogram_noise
from barrow.noise.source import SeededSource
from barrow.planning.simulate import resampled
from barrow.spaces import Clustered, Earth, Line, Space
from benchmarks._multiscale import ALPHA, SQUARE, populations


@dataclass
class Held:
    """How many intervals held."""

    above: int = 0
    held_above: int = 0
    below: int = 0
    held_below: int = 0

    def add(self, other: Held) -> None:
        """Add them up."""
        self.above += other.above
        self.held_above += other.held_above
        self.below += other.below
        self.held_below += other.held_below

    @property
    def shares(self) -> tuple[float, float]:
        """Of two-sided intervals, and of upper limits."""
        return self.held_above / max(self.above, 1), self.held_below / max(self.below, 1)


def held(made: HistogramNoise, truth: Any, seed: int, draws: int | None = None) -> Held:
    """One release from a known population."""
    shares = made.simulated(truth, SeededSource(seed))
    found = resampled(made, shares, draws)
    out = shares > found.noise
    right = (truth >= found.low - 1e-15) & (truth <= found.high + 1e-15)
    return Held(int(out.sum()), int(right[out].sum()), int((~out).sum()), int((truth <= found.high)[~out].sum()))


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
    found = np.bincount(items, weights=weights, minlength=earth.items)
    return earth, found / found.sum()


def along(space: Space) -> list[Any]:
    """Zipf, two hills, and nearly all at a few items."""
    k = np.arange(space.items)
    hills = np.exp(-(((k - 0.3 * len(k)) / (0.08 * len(k))) ** 2)) + 0.01
    few = np.where(k % 7 == 3, 1.0, 0.02)
    return [found / found.sum() for found in (1.0 / (k + 1.0), hills, few)]


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
    found: dict[str, float] = {}
    everything, worst = Held(), 1.0
    for name, pairs in cases().items():
        here = Held()
        for i, (made, truth) in enumerate(pairs):
            for again in range(repeats):
                here.add(held(made, truth, 1000 * i + again))
        above, below = here.shares
        print(f"{name}: {above:.1%} of {here.above:,} intervals, {below:.1%} of {here.below:,} upper limits")
        worst = min(worst, above if here.above else 1.0)
        everything.add(here)
    above, below = everything.shares
    found |= {
        "intervals_held": round(above, 4),
        "intervals_held_least": round(worst, 4),
        "limits_held": round(below, 4),
    }
    return found


if __name__ == "__main__":
    print(figures())
