"""Made-up and bundled populations of raw records, and the earth mover's distance of a released histogram from them.

Nothing here is rounded to the grid of a space: what is judged is the error that a person would see.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.planning.simulate import reference_distribution
from barrow.spaces import EARTH_RADIUS_KM, Circle, Earth, Euclidean, Line, Product, Space
from barrow.transport import emd

Floats = NDArray[np.float64]
_DENSE = 1600
"""Up to so many cells all distances to the records are held; above, paths between near cells stand in for them."""

CITIES = (
    ("New York", 40.71, -74.01, 19.6), ("Los Angeles", 34.05, -118.24, 13.0), ("Chicago", 41.88, -87.63, 9.4),
    ("Dallas", 32.78, -96.80, 7.8), ("Houston", 29.76, -95.37, 7.3), ("Washington", 38.91, -77.04, 6.3),
    ("Philadelphia", 39.95, -75.17, 6.2), ("Miami", 25.86, -80.25, 6.1), ("Atlanta", 33.75, -84.39, 6.2),
    ("Boston", 42.36, -71.06, 4.9), ("Phoenix", 33.45, -112.07, 5.0), ("San Francisco", 37.77, -122.42, 4.6),
    ("Riverside", 33.95, -117.40, 4.7), ("Detroit", 42.33, -83.05, 4.3), ("Seattle", 47.61, -122.33, 4.0),
    ("Minneapolis", 44.98, -93.27, 3.7), ("San Diego", 32.72, -117.16, 3.3), ("Tampa", 27.95, -82.46, 3.3),
    ("Denver", 39.74, -104.99, 3.0), ("St. Louis", 38.63, -90.20, 2.8), ("Charlotte", 35.23, -80.84, 2.8),
    ("Orlando", 28.54, -81.38, 2.8), ("San Antonio", 29.42, -98.49, 2.7), ("Portland", 45.52, -122.68, 2.5),
    ("Pittsburgh", 40.44, -80.00, 2.3), ("Kansas City", 39.10, -94.58, 2.2), ("Salt Lake City", 40.76, -111.89, 1.3),
    ("New Orleans", 29.95, -90.07, 1.0), ("Albuquerque", 35.08, -106.65, 0.9), ("Boise", 43.62, -116.20, 0.8),
)  # fmt: skip


@dataclass(frozen=True)
class Population:
    """Raw places with the share of all records at each, and how often each occurs.

    Attributes:
        places: One row of coordinates (or one item's id) for each place.
        counts: How many records lie there.
        items: Ids of the space's items to which the places are snapped.
    """

    places: Floats
    counts: NDArray[np.int64]
    items: NDArray[np.int64]

    @property
    def shares(self) -> Floats:
        return np.asarray(self.counts / self.counts.sum())


def population(space: Space, spec: Mapping[str, Any], records: int, rng: np.random.Generator) -> Population:
    """``records`` raw records, gathered by place."""
    places, weights = _places(space, spec, records, rng)
    if weights is None:
        places, counts = np.unique(places, axis=0, return_counts=True)
    else:
        counts = rng.multinomial(records, weights / weights.sum())
        places, counts = places[counts > 0], counts[counts > 0]
    return Population(places, counts.astype(np.int64), snapped(space, places))


def snapped(space: Space, places: Floats) -> NDArray[np.int64]:
    """The items that a release would take raw places for."""
    if isinstance(space, Product):
        parts = [snapped(part, places[:, [i]]) for i, part in enumerate(space.parts)]
        return np.asarray(np.ravel_multi_index(tuple(parts), tuple(part.items for part in space.parts)))
    if isinstance(space, Earth | Euclidean):
        return np.asarray(space.encode(places))
    if isinstance(space, Line | Circle):
        return np.asarray(space.encode(places[:, 0]))
    return places[:, 0].astype(np.int64)


def _places(
    space: Space, spec: Mapping[str, Any], records: int, rng: np.random.Generator
) -> tuple[Floats, Floats | None]:
    """Places with weights, or all records where there are none."""
    kind = spec["kind"]
    if kind == "together" and isinstance(space, Product):
        parts = [_alone(part, one, records, rng) for part, one in zip(space.parts, spec["parts"], strict=True)]
        return np.concatenate(parts, axis=1), None
    if kind == "reference":
        items = rng.choice(space.items, size=spec.get("places", records), p=reference_distribution(space))
        return _within(space, items, rng), np.ones(len(items))
    if kind == "dirichlet":
        return np.arange(space.items, dtype=np.float64)[:, None], rng.dirichlet(
            np.full(space.items, spec["concentration"])
        )
    if kind == "flights":
        return _flights(space)
    if kind in ("venues", "cities"):
        return (_venues if kind == "venues" else _cities)(space, spec, rng)
    return _alone(space, spec, records, rng), None


def _alone(space: Space, spec: Mapping[str, Any], records: int, rng: np.random.Generator) -> Floats:
    """Single records on a line or a circle, or ids of items."""
    if spec["kind"] == "dirichlet":
        weights = rng.dirichlet(np.full(space.items, spec["concentration"]))
        return rng.choice(space.items, size=records, p=weights).astype(np.float64)[:, None]
    if spec["kind"] == "lognormal":
        values = np.exp(rng.normal(spec["mean"], spec["deviation"], records))
    else:
        table = np.array(spec["parts"], dtype=np.float64)
        which = rng.choice(len(table), size=records, p=table[:, 0] / table[:, 0].sum())
        values = rng.normal(table[which, 1], table[which, 2])
    if isinstance(space, Circle):
        values = values % space.period
    elif isinstance(space, Line):
        values = np.clip(values, space.low, space.high)
    return np.asarray(np.rint(values) if spec.get("whole") else values)[:, None]


def _within(space: Space, items: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Raw places that are spread over the cells of items."""
    if isinstance(space, Product):
        split = np.unravel_index(items, tuple(part.items for part in space.parts))
        return np.concatenate([_within(p, np.asarray(i), rng) for p, i in zip(space.parts, split, strict=True)], axis=1)
    if isinstance(space, Line):
        edges = np.concatenate([[space.low], (space.points[1:] + space.points[:-1]) / 2.0, [space.high]])
        return np.asarray(rng.uniform(edges[items], edges[items + 1]))[:, None]
    if isinstance(space, Circle):
        width = space.period / space.items
        return np.asarray((space.points[items] + rng.uniform(-0.5, 0.5, len(items)) * width) % space.period)[:, None]
    if isinstance(space, Earth | Euclidean):
        return _scattered(space, space.points[items], _cell(space) / 2.0, rng, uniform=True)
    return items.astype(np.float64)[:, None]


def _cell(space: Earth | Euclidean) -> float:
    return float(space.cell or 0.0) if isinstance(space, Earth) else float(space.step or 0.0)


def _scattered(
    space: Earth | Euclidean, middle: Floats, reach: float, rng: np.random.Generator, *, uniform: bool = False
) -> Floats:
    """Points around others: ``reach`` is in the space's unit, and the box is not left."""
    shape = middle.shape
    moved = (rng.uniform(-1.0, 1.0, shape) if uniform else rng.normal(size=shape)) * reach
    if isinstance(space, Earth):
        moved = np.degrees(moved / EARTH_RADIUS_KM)
        moved[:, 1] /= np.cos(np.radians(middle[:, 0]))
        south, west, north, east = space.box
        return np.clip(middle + moved, [south, west], [north, east])
    return np.clip(middle + moved, space.low, space.high)


def _box(space: Earth | Euclidean) -> tuple[Floats, Floats]:
    if isinstance(space, Earth):
        south, west, north, east = space.box
        return np.array([south, west]), np.array([north, east])
    return space.low, space.high


def _venues(space: Any, spec: Mapping[str, Any], rng: np.random.Generator) -> tuple[Floats, Floats]:
    low, high = _box(space)
    centres = rng.uniform(low, high, (spec["clusters"], 2))
    which = rng.choice(len(centres), size=spec["places"], p=_zipf(len(centres)))
    places = _scattered(space, centres[which], spec["spread"] * space.diameter, rng)
    return places, rng.permutation(_zipf(spec["places"]))


def _cities(space: Any, spec: Mapping[str, Any], rng: np.random.Generator) -> tuple[Floats, Floats]:
    size = np.array([city[3] for city in CITIES])
    which = rng.choice(len(CITIES), size=spec["places"], p=size / size.sum())
    middle = np.array([[city[1], city[2]] for city in CITIES])[which]
    return _scattered(space, middle, spec["spread_km"], rng), rng.permutation(_zipf(spec["places"]) ** 0.5)


def _zipf(k: int) -> Floats:
    weights = 1.0 / np.arange(1, k + 1)
    return np.asarray(weights / weights.sum())


def _flights(space: Space) -> tuple[Floats, Floats]:
    """Where aircraft flew, every aircraft once; on a box only destinations within it."""
    import duckdb

    file = str(files("barrow.demo") / "data" / "flights.parquet")
    rows = (
        duckdb.connect()
        .execute(
            f"""WITH one AS (SELECT "user" AS u, dest, lat, lon, count(*) AS c FROM '{file}' GROUP BY ALL),
        sizes AS (SELECT u, sum(c) AS m FROM one GROUP BY u)
        SELECT dest, lat, lon, sum(c / m) FROM one JOIN sizes USING (u) GROUP BY ALL ORDER BY dest"""
        )
        .fetchall()
    )
    if not isinstance(space, Earth):
        ids = [list(space.labels).index(row[0]) for row in rows]
        return np.array(ids, dtype=np.float64)[:, None], np.array([row[3] for row in rows])
    low, high = _box(space)
    inside = [row for row in rows if low[0] < row[1] < high[0] and low[1] < row[2] < high[1]]
    return np.array([[row[1], row[2]] for row in inside]), np.array([row[3] for row in inside])


# The earth mover's distance from a histogram on a grid to raw places.


def raw_error(space: Space, histogram: Floats, places: Floats, shares: Floats) -> float:
    """EMD, in the space's unit, between a histogram at the space's items and mass at raw places."""
    if isinstance(space, Line):
        return _on_line(np.asarray(space.points), histogram, places[:, 0], shares, None)
    if isinstance(space, Circle):
        return _on_line(np.asarray(space.points), histogram, places[:, 0], shares, space.period)
    if isinstance(space, Earth | Euclidean) and space.items > _DENSE:
        return _along_near_cells(space, histogram, places, shares)
    if isinstance(space, Earth | Euclidean | Product):
        return _dense(raw_distances(space, places), histogram, shares)
    truth = np.bincount(places[:, 0].astype(np.int64), weights=shares, minlength=space.items)
    return float(emd(space, histogram, truth)) * space.diameter


def _on_line(points: Floats, histogram: Floats, raw: Floats, shares: Floats, period: float | None) -> float:
    """The area between the cumulative shares; around a circle the best constant is taken off, their median."""
    at = np.concatenate([points, raw])
    order = np.argsort(at, kind="stable")
    gap = np.cumsum(np.concatenate([histogram, -shares])[order])
    ends = at[order]
    if period is None:
        return float(np.abs(gap[:-1]) @ np.diff(ends))
    lengths = np.append(np.diff(ends), period - ends[-1] + ends[0])
    ranked = np.argsort(gap)
    middle = gap[ranked][np.searchsorted(np.cumsum(lengths[ranked]), period / 2.0)]
    return float(np.abs(gap - middle) @ lengths)


def raw_distances(space: Space, places: Floats) -> Floats:
    """(places, items), in the space's unit."""
    if isinstance(space, Product):
        split = np.unravel_index(np.arange(space.items), tuple(part.items for part in space.parts))
        parts = zip(space.parts, space.weights, split, strict=True)
        apart = np.zeros((len(places), space.items))
        for i, (part, weight, ids) in enumerate(parts):
            apart += float(weight) * raw_distances(part, places[:, [i]])[:, ids] / part.diameter
        return apart
    if isinstance(space, Earth):
        return EARTH_RADIUS_KM * _angles(_unit(places)[:, None, :] - _unit(space.points)[None, :, :])
    if isinstance(space, Euclidean):
        return np.asarray(np.linalg.norm(places[:, None, :] - space.points[None, :, :], axis=2))
    if isinstance(space, Line | Circle):
        apart = np.abs(places - np.asarray(space.points)[None, :])
        return np.asarray(apart if isinstance(space, Line) else np.minimum(apart, space.period - apart))
    return space.block()[places[:, 0].astype(np.int64)] * space.diameter


def _unit(places: Floats) -> Floats:
    lat, lon = np.radians(places[:, 0]), np.radians(places[:, 1])
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)


def _angles(chords: Floats) -> Floats:
    return np.asarray(2.0 * np.arcsin(np.minimum(np.linalg.norm(chords, axis=-1) / 2.0, 1.0)))


def _dense(costs: Floats, histogram: Floats, shares: Floats) -> float:
    import ot

    return float(ot.emd2(shares / shares.sum(), histogram / histogram.sum(), costs, numItermax=10**8))


def _along_near_cells(space: Earth | Euclidean, histogram: Floats, places: Floats, shares: Floats) -> float:
    """Transport from raw places to near cells and on from cell to cell, each at its true distance.

    Cells are joined to all others within 2.4 cells (16 or more), so paths are at most 2.7 % too long.
    """
    import ot
    from scipy.sparse import coo_array
    from scipy.spatial import cKDTree

    sphere = isinstance(space, Earth)
    cells = _unit(space.points) if sphere else np.asarray(space.points)
    raw = _unit(places) if sphere else places
    radius = EARTH_RADIUS_KM if sphere else 1.0

    def apart(a: Floats, b: Floats) -> Floats:
        return radius * _angles(a - b) if sphere else np.asarray(np.linalg.norm(a - b, axis=1))

    tree, k, m = cKDTree(cells), len(cells), len(raw)
    near = tree.query_pairs(2.4 * _cell(space) / radius, output_type="ndarray")
    _, homes = tree.query(raw, k=12)
    own, to = np.repeat(np.arange(m), 12), homes.ravel()
    each, steps = np.arange(k), apart(cells[near[:, 0]], cells[near[:, 1]])
    rows = np.concatenate([each, near[:, 0], near[:, 1], k + own])
    columns = np.concatenate([each, near[:, 1], near[:, 0], to])
    costs = np.concatenate([np.zeros(k), steps, steps, apart(raw[own], cells[to])])
    shift = _cell(space)  # zero costs would be no entries of a sparse matrix
    matrix = coo_array((costs + shift, (rows, columns)), shape=(k + m, k))
    supply = np.concatenate([np.ones(k), shares / shares.sum()])
    demand = 1.0 + histogram / histogram.sum()
    demand = demand * (supply.sum() / demand.sum())
    _, log = ot.emd(supply, demand, matrix, numItermax=10**9, log=True, check_marginals=False)
    return float(log["cost"] - shift * supply.sum())
