"""Lipschitz constants of quantised queries: over all pairs of items, over neighbours, or over near pairs.

Every function returns upper bounds for the function that is really released, the quantised one, relative to the real
metric: computed distances may be off by ``space.distance_error``, and floats are rounded up (docs/proofs/lipschitz.md).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.numerics import float_up
from barrow.queries.quantised import Quantised, relative_slack, row_norms
from barrow.spaces import EARTH_RADIUS_KM, Space
from barrow.spaces.geometry import BoxCells, Floats, Ids

DECLARED = "declared"
"""The method of a constant that is somebody's word."""
PAIR_WORK = 2e10
"""All pairs are visited up to this many units of work, about one per nanosecond."""
RANGE_WORK = 5e8
_EASY_PAIRS = 5e6
_FLAT_PAIRS = 1e6
_NEAR_PAIRS = 4e7
"""Two million pairs of sparse rows are visited in about a second."""
_MOST_OFFSETS = 2**20
_BLOCK = 2**21
_MOST_KNOWN = 2**18


@dataclass(frozen=True)
class Constants:
    """What a query's noise needs to know, for one norm.

    Attributes:
        lipschitz_upper: Largest change of the query per unit of normalised distance.
        range_upper: B, the largest change over the whole space; at most ``lipschitz_upper``.
        method: How the first was found: ``"all pairs"``, ``"neighbours"``, ``"near pairs"``, ``"chains"``, ``"range"``,
            ``"closed form"`` or ``"declared"``.
        pair: The two items that attain it, where they were visited.

    >>> 0.25 <= Constants(2.0, 0.5, "closed form", None).range_ratio < 0.25001
    True
    """

    lipschitz_upper: float
    range_upper: float
    method: str
    pair: tuple[int, int] | None

    @property
    def proved(self) -> bool:
        """Whether the constant was found or proved here; False where it is somebody's word.

        >>> Constants(2.0, 0.5, "declared", None).proved
        False
        """
        return self.method != DECLARED

    @property
    def range_ratio(self) -> float:
        """B/ell, rounded up, at most 1."""
        return min(1.0, self.range_upper / self.lipschitz_upper * (1.0 + 2.0**-50))


def pair_work(items: int, outputs: int) -> float:
    """The units of work of visiting all pairs."""
    return 0.5 * items * items * (outputs + 16)


def by_all_pairs(space: Space, table: Quantised, norms: Sequence[float]) -> dict[float, Constants]:
    """The constants over all pairs of items, a strip of rows at a time."""
    values = table.integers.toarray().astype(np.float64) if table.sparse else table.floats()
    best = {p: _Best() for p in norms}
    width = max(1, _BLOCK // space.items)
    for start in range(0, space.items, width):
        stop = min(start + width, space.items)
        far = space.block(np.arange(start, stop), np.arange(start, space.items))
        for p in norms:
            gap = cross_norms(values[start:stop], values[start:], p)
            best[p].see_block(space, gap, far, start)
    return {p: best[p].constants(space, table, "all pairs") for p in norms}


def range_by_pairs(table: Quantised, p: float) -> float:
    """The largest p-norm of the difference of two rows, over all pairs, rounded up; distances are not needed."""
    values = np.unique(table.floats(), axis=0)
    width = max(1, _BLOCK // len(values))
    largest = max(
        float(cross_norms(values[part], values[part.start :], p).max()) for part in _slices(len(values), width)
    )
    return largest * float_up(table.step) * (1.0 + relative_slack(table.shape[1]))


def by_neighbours(space: Space, table: Quantised, norms: Sequence[float]) -> dict[float, Constants]:
    """The same where the way between two items leads through their neighbours, as on a line or a circle."""
    a = np.arange(len(cast("Floats", space.geometry.gaps)))
    b = (a + 1) % space.items
    best = {p: _Best() for p in norms}
    values = table.floats()
    for part in _slices(len(a), max(1, _BLOCK // max(1, table.row_width))):
        x, y = a[part], b[part]
        far = space.distance(x, y)
        for p in norms:
            best[p].see_pairs(space, row_norms(values[x] - values[y], p), far, x, y)
    return {p: best[p].constants(space, table, "neighbours", known_range=False) for p in norms}


def by_near_pairs(
    space: Space,
    table: Quantised,
    norms: Sequence[float],
    points: Floats,
    reach: float,
    beyond: Callable[[float, float], float] | None = None,
) -> dict[float, Constants] | None:
    """The same for sparse tables: pairs that are far apart cannot change by more per unit than the range allows.

    Pairs within some distance R are visited; those beyond contribute at most range/R. R grows until that is no more
    than what was found. Where too many pairs are within R, shorter ones are visited, and longer ones are bounded by
    chains of items along their geodesic. None if there would still be too many.

    Args:
        space: The space.
        table: The query's values.
        norms: The norms wanted.
        points: Cartesian coordinates of the items, in which distance grows with the distance of the space: Euclidean
            ones, or unit vectors on the sphere.
        reach: A first R, as a normalised distance.
        beyond: From a norm and R to a bound on the quotients of pairs at distance at least R, non-increasing in R; by
            default range/R.
    """
    tree = heavy.cKDTree(points)
    radius = min(reach, 1.0)
    spans = {p: table.range_upper(p) for p in norms}

    def farther(p: float, distance: float) -> float:
        simple = spans[p] / distance
        return simple if beyond is None else min(simple, beyond(p, distance))

    while True:
        plan = _visits(space, tree, points, radius)
        if plan is None:
            return None
        visited, stretch = plan
        best = {p: _Best() for p in norms}
        for x, y, far in _near_far(space, tree, points, visited):
            rows = (table.integers[x] - table.integers[y]).astype(np.float64)
            for p in norms:
                best[p].see_pairs(space, row_norms(rows, p), far, x, y)
        result = {p: best[p].constants(space, table, "near pairs", known_range=False) for p in norms}
        result = {p: replace(c, lipschitz_upper=c.lipschitz_upper * stretch) for p, c in result.items()}
        if radius >= 1.0 or all(farther(p, radius) <= c.lipschitz_upper for p, c in result.items()):
            return result
        radius *= 1.25
        while radius < 1.0 and any(farther(p, radius) > c.lipschitz_upper for p, c in result.items()):
            radius *= 1.05
        radius = min(radius, 1.0)


def by_chains(space: Space, table: Quantised, norms: Sequence[float]) -> dict[float, Constants] | None:
    """The same for dense tables on a box in Euclidean space: all short steps of the grid, and chains of them.

    A step of the grid is one pass over the table, so that large spaces are quick; the chains cost a factor of at most
    1 + 2/(c (c-2)) (docs/proofs/lipschitz.md). None for other spaces, and where even c = 5 is too much work.
    """
    grid = space.geometry.lattice
    if grid is None or not grid.full or space.geometry.gaps is not None or table.sparse:
        return None
    widths = grid.widths / space.diameter
    for c in (20.0, 14.0, 10.0, 7.0, 5.0):
        offsets = _offsets(grid.shape, widths, 2.0 * c * space.snapping_upper * (1.0 + 2.0**-30))
        if offsets is not None and len(offsets) * space.items * (table.shape[1] + 16.0) <= PAIR_WORK:
            break
    else:
        return None
    values = table.floats().reshape(*grid.shape, table.shape[1])
    best = dict.fromkeys(norms, 0.0)
    for offset in offsets:
        # Coordinates are rounded relative to the corners; the least of all distances with this offset is not below it.
        far = float(np.sqrt(((offset * widths) ** 2).sum())) * (1.0 - 2.0**-30)
        one = tuple(slice(max(0, -s), n - max(0, s)) for s, n in zip(offset.tolist(), grid.shape, strict=True))
        two = tuple(slice(max(0, s), n - max(0, -s)) for s, n in zip(offset.tolist(), grid.shape, strict=True))
        rows = (values[one] - values[two]).reshape(-1, table.shape[1])
        for p in norms:
            best[p] = max(best[p], float(row_norms(rows, p).max(initial=0.0)) / far)
    unit = float_up(table.step) * (1.0 + relative_slack(table.shape[1])) * (1.0 + 2.0 * space.distance_error)
    stretch = (1.0 + 2.0 / (c * (c - 2.0))) * (1.0 + 2.0**-40)
    return {p: Constants(result * unit * stretch, math.inf, "chains", None) for p, result in best.items()}


def _offsets(shape: tuple[int, ...], widths: Floats, radius: float) -> Any:
    """Half of the steps of a grid that are no longer than ``radius`` (the others are their negatives); None if many."""
    reach = np.minimum(np.floor(radius / widths).astype(np.int64), np.array(shape) - 1)
    if float(np.prod(2.0 * reach + 1.0)) > _MOST_OFFSETS:
        return None
    axes = [np.arange(-r, r + 1) for r in reach.tolist()]
    steps = np.stack([x.ravel() for x in np.meshgrid(*axes, indexing="ij")], axis=1)
    steps = steps[len(steps) // 2 + 1 :]
    return steps[((steps * widths) ** 2).sum(axis=1) <= radius**2 * (1.0 + 2.0**-40)]


def by_range(space: Space, table: Quantised, norms: Sequence[float]) -> dict[float, Constants]:
    """What the range allows: no two items are nearer than the least distance. Tight where all are equally far apart."""
    slack = 1.0 + relative_slack(table.shape[1])
    result = {p: table.range_upper(p) / space.least_distance_lower * slack for p in norms}
    return {p: Constants(bound, math.inf, "range", None) for p, bound in result.items()}


def _visits(space: Space, tree: Any, points: Floats, radius: float) -> tuple[float, float] | None:
    """Up to which distance pairs are visited, and the factor that this costs; None if there are too many pairs.

    If an item is within rho of every point of a geodesic, pairs longer than 2 c rho are bounded by chains of pairs no
    longer than that, which are longer in all by a factor of at most 1 + 2/(c (c-2)) (docs/proofs/lipschitz.md).
    """

    def pairs(distance: float) -> float:
        if space.geometry.lattice is not None:
            return _flat_pairs(space, space.geometry.lattice, distance)
        return float(tree.count_neighbors(tree, _chord(space, points, distance)) - len(points)) / 2.0

    if pairs(radius) <= _EASY_PAIRS:
        return radius, 1.0
    # Products of hats have a formula that a fine grid attains but for a few per cent: long visits gain nothing there.
    patience = _NEAR_PAIRS if space.geometry.lattice is None else _FLAT_PAIRS
    rho = _offset_upper(space, radius)
    if rho is not None:
        for c in (20.0, 14.0, 10.0, 7.0, 5.0):
            most = patience if c <= 7.0 else _EASY_PAIRS
            if 2.0 * c * rho < radius and pairs(2.0 * c * rho) <= most:
                return 2.0 * c * rho, (1.0 + 2.0 / (c * (c - 2.0))) * (1.0 + 2.0**-40)
    return (radius, 1.0) if pairs(radius) <= patience else None


def _flat_pairs(space: Space, grid: BoxCells, distance: float) -> float:
    """About how many pairs of a Euclidean grid are within ``distance``: a ball's volume in cells for each item."""
    items, t = space.items, grid.dimension
    cells = float(np.prod(distance * space.diameter * np.array(grid.shape) / (grid.high - grid.low)))
    ball = float(math.pi ** (t / 2.0)) / math.gamma(t / 2.0 + 1.0) * cells
    return items / 2.0 * min(float(items), ball)


def _offset_upper(space: Space, length: float) -> float | None:
    """rho: how far, at most, the nearest item is from a point of a geodesic no longer than ``length``; None if unknown.

    Boxes and balls are convex, so it is what snapping moves. A geodesic between two places of a box on Earth may bulge
    out of it towards a pole: if its ends are no farther north than phi, sin(its highest latitude) is at most
    sin(phi)/cos(length/2).
    """
    if space.geometry.lattice is not None:
        return space.snapping_upper
    if space.geometry.box is None:
        return None
    south, west, north, east = space.geometry.box
    half = length * space.diameter / EARTH_RADIUS_KM / 2.0
    if half > 0.7 or 180.0 < east - west < 360.0:
        return None  # the short way round may lead through the part of the Earth that the box leaves out
    bulge = 0.0
    for edge in (north, -south):
        phi = math.radians(edge)
        if 0.0 < phi < math.pi / 2.0:
            bulge = max(bulge, math.asin(min(1.0, math.sin(phi) / math.cos(half))) - phi)
    return space.snapping_upper + (bulge + 2.0**-40) * EARTH_RADIUS_KM / space.diameter * (1.0 + 2.0**-30)


def _chord(space: Space, points: Floats, radius: float) -> float:
    """A Cartesian distance that no pair within normalised distance ``radius`` exceeds."""
    if space.geometry.on_earth:
        angle = min(radius * space.diameter / EARTH_RADIUS_KM, math.pi)
        return 2.0 * math.sin(angle / 2.0) * (1.0 + 2.0**-30) + 2.0**-40
    return radius * space.diameter * (1.0 + 2.0**-30)


_Pairs = tuple[Ids, Ids, Floats]
_KNOWN: deque[tuple[Space, float, Floats, list[_Pairs]]] = deque(maxlen=4)
"""The last pairs, where they are few: queries that weigh the same scales otherwise ask for them again."""


def _near_far(space: Space, tree: Any, points: Floats, radius: float) -> Iterator[_Pairs]:
    """Pairs of items within a distance, with their distances."""
    for known, reach, places, pairs in list(_KNOWN):
        if reach == radius and known == space and np.array_equal(places, points):
            yield from pairs
            return
    found: list[_Pairs] = []
    count = 0
    for x, y in _near(tree, points, _chord(space, points, radius)):
        pair = x, y, space.distance(x, y)
        count += len(x)
        if count <= _MOST_KNOWN:
            found.append(pair)
        yield pair
    if count <= _MOST_KNOWN:
        _KNOWN.append((space, radius, points, found))


def _near(tree: Any, points: Floats, chord: float) -> Iterator[tuple[Ids, Ids]]:
    width = 4096
    for part in _slices(len(points), width):
        local = heavy.cKDTree(points[part]).sparse_distance_matrix(tree, chord, output_type="coo_matrix")
        x, y = local.row.astype(np.int64) + part.start, local.col.astype(np.int64)
        keep = x < y
        x, y = x[keep], y[keep]
        for piece in _slices(len(x), 2**18):
            yield x[piece], y[piece]


def _slices(length: int, width: int) -> Iterator[slice]:
    for start in range(0, length, width):
        yield slice(start, min(start + width, length))


class _Best:
    """The largest quotient and difference so far."""

    def __init__(self) -> None:
        self.ratio = 0.0
        self.gap = 0.0
        self.pair: tuple[int, int] | None = None

    def see_block(self, space: Space, gap: Floats, far: Floats, start: int) -> None:
        self.gap = max(self.gap, float(gap.max(initial=0.0)))
        apart = far > 0.0
        if (gap[~apart] > 0.0).any():
            i, j = np.argwhere(~apart & (gap > 0.0))[0]
            raise not_lipschitz(space, start + int(i), start + int(j))
        np.divide(gap, far, out=gap, where=apart)
        best = int(gap.argmax())
        self._keep(float(gap.flat[best]), start + best // gap.shape[1], start + best % gap.shape[1])

    def see_pairs(self, space: Space, gap: Floats, far: Floats, x: Ids, y: Ids) -> None:
        if not len(gap):
            return
        apart = far > 0.0
        if (gap[~apart] > 0.0).any():
            wrong = int(np.flatnonzero(~apart & (gap > 0.0))[0])
            raise not_lipschitz(space, int(x[wrong]), int(y[wrong]))
        quotient = np.divide(gap, far, out=np.zeros_like(gap), where=apart)
        best = int(quotient.argmax())
        self._keep(float(quotient[best]), int(x[best]), int(y[best]))

    def _keep(self, ratio: float, a: int, b: int) -> None:
        if ratio > self.ratio:
            self.ratio, self.pair = ratio, (a, b)

    def constants(self, space: Space, table: Quantised, method: str, known_range: bool = True) -> Constants:
        unit = float_up(table.step) * (1.0 + relative_slack(table.shape[1]))
        upper = self.ratio * unit * (1.0 + 2.0 * space.distance_error)
        # Where not all pairs were visited the largest difference is unknown here; the query bounds it otherwise.
        return Constants(upper, self.gap * unit if known_range else math.inf, method, self.pair)


def cross_norms(rows: Floats, columns: Floats, p: float) -> Floats:
    """p-norms of all differences of ``rows`` and ``columns``."""
    if p == 1.0:
        return np.asarray(heavy.spatial.distance.cdist(rows, columns, "cityblock"))
    if p == math.inf:
        return np.asarray(heavy.spatial.distance.cdist(rows, columns, "chebyshev"))
    if p == 2.0:
        # Integers up to 2^51 have squares far from overflow, and the least nonzero square is 1.
        return np.asarray(heavy.spatial.distance.cdist(rows, columns, "euclidean"))
    top = np.asarray(heavy.spatial.distance.cdist(rows, columns, "chebyshev"))
    safe = np.where(top > 0.0, top, 1.0)
    total = np.zeros_like(top)
    for j in range(rows.shape[1]):
        total += (np.abs(rows[:, j, None] - columns[None, :, j]) / safe) ** p
    return np.asarray(top * total ** (1.0 / p))


def not_lipschitz(space: Space, a: int, b: int) -> ParameterError:
    """The error for two items that the query tells apart although their distance is 0."""
    return ParameterError(
        f"The query is not Lipschitz: {space.label(a)!r} and {space.label(b)!r} are at distance 0, but it differs "
        "between them.",
        allowed="a query that gives items at distance 0 the same value",
        fix="give both items the same value, or use a space that tells them apart",
    )
