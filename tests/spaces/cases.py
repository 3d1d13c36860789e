"""One instance or more of every kind of space, with a way to draw records for it."""

from __future__ import annotations

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
    Groups,
    Hexagons,
    Line,
    NoRecords,
    Product,
    Tree,
)
from barrow.testing import SpaceCase

_RNG = np.random.default_rng(5)


def _uniform(low: Any, high: Any) -> Any:
    return np.random.default_rng(11).uniform(low, high, size=(500, *np.shape(low)))


def _disc() -> Any:
    rng = np.random.default_rng(11)
    x = rng.normal(size=(500, 2))
    return x / np.linalg.norm(x, axis=1, keepdims=True) * np.sqrt(rng.uniform(size=(500, 1))) * 3 + [1, 2]


_BUSH = [
    ("a", "x", 0.5), ("b", "x", 1.5), ("c", "y", 1.0), ("d", "y", 0.25), ("x", "z", 1.0), ("y", "z", 2.0),
    ("e", "root", 4.0), ("z", "root", 0.5), ("f", "w", 1.0), ("w", "root", 1.0),
]  # fmt: skip
_NYC = (40.5, -74.3, 41.0, -73.6)
_ODD = [[x] for x in (np.nan, np.inf, -np.inf)]  # what is outside has an item of its own
_ODD_PLACES = [[[x, x]] for x in (np.nan, np.inf, -np.inf)]

# Rows of cells on Earth need not be aligned, so that their least distance is a bound with some slack.
CASES = [
    SpaceCase("finite", Finite(["a", "b", "c"], [[0, 5, 2], [5, 0, 4], [2, 4, 0]], unit="km", default="b")),
    SpaceCase("discrete", Discrete(["a", "b", "c", "d"], default="c")),
    SpaceCase("line-step", Line(-3, 7.5, unit="m", step=0.7, default=1.0), _uniform(-3, 7.5)),
    SpaceCase("line-whole-numbers", Line(-3, 9, unit="m", step=3, default=2.0), _uniform(-3, 9)),
    SpaceCase("no-records-line", NoRecords(Line(-3, 7.5, unit="m", step=0.7)), _uniform(-3, 7.5)),
    SpaceCase("no-records-hours", NoRecords(Circle(24, step=2), distance="1/2"), _uniform(0, 24)),
    SpaceCase(
        "elsewhere-line",
        Elsewhere(Line(-3, 7.5, unit="m", step=0.7, default=1.0)),
        _uniform(-9, 12),
        bad=_ODD,
        measured=False,
    ),
    SpaceCase(
        "elsewhere-earth",
        Elsewhere(Earth(box=_NYC, cell=9)),
        _uniform([40, -75], [42, -73]),
        bad=_ODD_PLACES,
        measured=False,
    ),
    SpaceCase("line-points", Line(0, 10, points=[0.5, 1.0, 4.0, 9.9]), _uniform(0, 10)),
    SpaceCase("circle-step", Circle(24, unit="h", step=1.5, default=13.0), _uniform(0, 24)),
    SpaceCase("circle-names", Circle.weekdays()),
    SpaceCase("box", Euclidean([0, -1], [3, 4], unit="m", step=0.8, default=[1, 1]), _uniform([0, -1], [3, 4])),
    SpaceCase("disc", Euclidean(center=[1, 2], radius=3, step=0.9), _disc()),
    SpaceCase("cube", Euclidean([0, 0, 0], [1, 1, 2], step=0.5), _uniform([0, 0, 0], [1, 1, 2])),
    SpaceCase("earth", Earth(cell=2500), _uniform([-90, -180], [90, 180]), least_slack=0.15),
    SpaceCase("nyc", Earth(box=_NYC, cell=7, default=(40.7, -74)), _uniform(_NYC[:2], _NYC[2:]), least_slack=0.15),
    SpaceCase("wide", Earth(box=(-35, -120, 60, 60), cell=1500), _uniform([-35, -120], [60, 60]), least_slack=0.15),
    SpaceCase("hexagons", Hexagons.around(40.75, -73.98, resolution=7, rings=2)),
    SpaceCase("clustered", Clustered.grid(3, 4, r=0.05)),
    SpaceCase("clustered-uneven", Clustered({"x": ["a", "b"], "y": ["c"], "z": ["d", "e", "f"]}, r=0.2, default="e")),
    SpaceCase("tree", Tree(_BUSH, unit="km", default="d")),
    SpaceCase("nested", Tree.nested(["US/NY/1", "US/NY/2", "US/LA/1", "FR/Paris/1"], distances=[1, 0.5, 0.1])),
    SpaceCase("embedding", Embedding([f"w{i}" for i in range(9)], _RNG.normal(size=(9, 4)))),
    SpaceCase("angular", Embedding([f"w{i}" for i in range(9)], _RNG.normal(size=(9, 4)), metric="angular")),
    SpaceCase("covariates", Covariates([f"n{i}" for i in range(7)], _RNG.normal(size=(7, 12)))),
    SpaceCase(
        "graph", Graph([("a", "b", 2), ("b", "c", 3.5), ("c", "d", 1), ("a", "d", 2), ("d", "e", 0.3)], default="c")
    ),
    SpaceCase(
        "product",
        Product([Line(0, 10, step=2, unit="km"), Circle.hours(4)], weights=["2/3", "1/3"]),
        [_uniform(0, 10), _uniform(0, 24)],
        bad=[[[np.nan], [1.0]], [[1.0], [99.0]]],
        measured=False,
    ),
    SpaceCase(
        "groups",
        Groups(["a", "b", "c"], Line(0, 10, step=2, unit="km"), distance="1/2", name="ward"),
        [np.random.default_rng(11).choice(["a", "b", "c"], 500), _uniform(0, 10)],
        bad=[[["d"], [1.0]], [["a"], [np.nan]]],
        measured=False,
    ),
]
"""Small spaces of every kind."""
IDS = [case.name for case in CASES]
