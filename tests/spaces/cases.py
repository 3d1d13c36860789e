"""One instance or more of every kind of space, with a way to draw records for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.spaces import (
    Circle,
    Clustered,
    Covariates,
    Discrete,
    Earth,
    Elsewhere,
    Embedding,
    Euclidean,
    Finite,
    Graph,
    Hexagons,
    Line,
    NoRecords,
    Product,
    Space,
    Tree,
)

Draw = Callable[[np.random.Generator, int], Any]


@dataclass(frozen=True)
class Case:
    name: str
    space: Space
    draw: Draw | None = None  # None: records are labels


def _uniform(low: Any, high: Any) -> Draw:
    return lambda rng, n: rng.uniform(low, high, size=(n, *np.shape(low)))


def _disc(rng: np.random.Generator, n: int) -> Any:
    x = rng.normal(size=(n, 2))
    return x / np.linalg.norm(x, axis=1, keepdims=True) * np.sqrt(rng.uniform(size=(n, 1))) * 3 + [1, 2]


_RNG = np.random.default_rng(5)
_BUSH = [
    ("a", "x", 0.5), ("b", "x", 1.5), ("c", "y", 1.0), ("d", "y", 0.25), ("x", "z", 1.0), ("y", "z", 2.0),
    ("e", "root", 4.0), ("z", "root", 0.5), ("f", "w", 1.0), ("w", "root", 1.0),
]  # fmt: skip
_NYC = (40.5, -74.3, 41.0, -73.6)

CASES = [
    Case("finite", Finite(["a", "b", "c"], [[0, 5, 2], [5, 0, 4], [2, 4, 0]], unit="km", default="b")),
    Case("discrete", Discrete(["a", "b", "c", "d"], default="c")),
    Case("line-step", Line(-3, 7.5, unit="m", step=0.7, default=1.0), _uniform(-3, 7.5)),
    Case("line-whole-numbers", Line(-3, 9, unit="m", step=3, default=2.0), _uniform(-3, 9)),
    Case("no-records-line", NoRecords(Line(-3, 7.5, unit="m", step=0.7)), _uniform(-3, 7.5)),
    Case("no-records-hours", NoRecords(Circle(24, step=2), distance="1/2"), _uniform(0, 24)),
    Case("elsewhere-line", Elsewhere(Line(-3, 7.5, unit="m", step=0.7, default=1.0)), _uniform(-9, 12)),
    Case("elsewhere-earth", Elsewhere(Earth(box=_NYC, cell=9)), _uniform([40, -75], [42, -73])),
    Case("line-points", Line(0, 10, points=[0.5, 1.0, 4.0, 9.9]), _uniform(0, 10)),
    Case("circle-step", Circle(24, unit="h", step=1.5, default=13.0), _uniform(0, 24)),
    Case("circle-names", Circle.weekdays()),
    Case("box", Euclidean([0, -1], [3, 4], unit="m", step=0.8, default=[1, 1]), _uniform([0, -1], [3, 4])),
    Case("disc", Euclidean(center=[1, 2], radius=3, step=0.9), _disc),
    Case("cube", Euclidean([0, 0, 0], [1, 1, 2], step=0.5), _uniform([0, 0, 0], [1, 1, 2])),
    Case("earth", Earth(cell=2500), _uniform([-90, -180], [90, 180])),
    Case("nyc", Earth(box=_NYC, cell=7, default=(40.7, -74)), _uniform(_NYC[:2], _NYC[2:])),
    Case("wide", Earth(box=(-35, -120, 60, 60), cell=1500), _uniform([-35, -120], [60, 60])),
    Case("hexagons", Hexagons.around(40.75, -73.98, resolution=7, rings=2)),
    Case("clustered", Clustered.grid(3, 4, r=0.05)),
    Case("clustered-uneven", Clustered({"x": ["a", "b"], "y": ["c"], "z": ["d", "e", "f"]}, r=0.2, default="e")),
    Case("tree", Tree(_BUSH, unit="km", default="d")),
    Case("nested", Tree.nested(["US/NY/1", "US/NY/2", "US/LA/1", "FR/Paris/1"], distances=[1, 0.5, 0.1])),
    Case("embedding", Embedding([f"w{i}" for i in range(9)], _RNG.normal(size=(9, 4)))),
    Case("angular", Embedding([f"w{i}" for i in range(9)], _RNG.normal(size=(9, 4)), metric="angular")),
    Case("covariates", Covariates([f"n{i}" for i in range(7)], _RNG.normal(size=(7, 12)))),
    Case("graph", Graph([("a", "b", 2), ("b", "c", 3.5), ("c", "d", 1), ("a", "d", 2), ("d", "e", 0.3)], default="c")),
    Case(
        "product",
        Product([Line(0, 10, step=2, unit="km"), Circle.hours(4)], weights=["2/3", "1/3"]),
        lambda rng, n: [rng.uniform(0, 10, n), rng.uniform(0, 24, n)],
    ),
]
"""Small spaces of every kind."""
IDS = [case.name for case in CASES]
