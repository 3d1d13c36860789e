"""Additive noise for linear queries under user-level DP: replacing one user moves the mean by up to B/n.

B is the largest norm of f(x) - f(x') over the space; for a histogram it is 2 in the 1-norm, not 1 as the paper's
Laplace baseline has it. The norm is a p-norm, or the one of the query itself (B = 1): K is the polytope of all
differences f(x) - f(x') (Hardt and Talwar), one user moves the mean over n users by a point of K/n, so noise with
density exp(-epsilon n ||z||_K) is (epsilon, 0)-user-level DP, and no norm of the outputs' axes fits the query better
(docs/proofs/user-level.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Unpack

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.mechanisms.additive import (
    CONFIDENCE,
    NEVER,
    AdditiveNoise,
    by_predicted_error,
    checked_model,
    wanted_norms,
)
from barrow.mechanisms.linear import NoiseOptions
from barrow.noise import Center, RandomSource, RoundedValues, default_grid
from barrow.noise.additive.polytope import Polytope, rounded_polytope
from barrow.noise.source import SeededSource
from barrow.numerics import Exact, float_down, float_up, gdp_mu_lower
from barrow.numerics.search import root
from barrow.promises import Event, Model, UserLevelRelease
from barrow.promises.definitions import positive, probability
from barrow.queries import Quantised, Query
from barrow.spaces.space import Floats, Ids

MOST_OUTPUTS = 5
_MOST_CORNERS, _MOST_FACETS = 64, 400
_LEAST_KEPT, _FIRST_TRIALS = 0.01, 2000
"""A polytope that fills less than this of the parallelepiped around it is left alone: each draw would take long."""
_TRIALS, _MOST_PRODUCTS = 60_000, 4 * 10**6
_ERRORS, _SIZES = 4.0, 4096
"""Half widths come from sampled points of K; so many standard errors are added to their tails."""


def query_polytope(query: Query) -> tuple[Polytope, Fraction] | None:
    """A polytope K and a unit u, such that u K holds every difference f(x) - f(x') of the query; None if none is found.

    Any facets would do for privacy, since each is moved out until it holds all differences, with rounding counted;
    those of the convex hull make the noise least.
    """
    d = query.dimension
    if not 2 <= d <= MOST_OUTPUTS:
        return None
    table = query.table.integers.toarray() if query.table.sparse else query.table.integers
    points = np.asarray(table, dtype=np.float64)
    unit = float((points.max(axis=0) - points.min(axis=0)).max())
    normals = None if unit <= 0.0 else _normals(points / unit)
    if normals is None:
        return None
    # Each facet at the largest difference in its direction, every rounding counted on the side of more noise.
    along = points @ normals.T
    slack = (d + 3) * 2.0**-52 * float(np.abs(points).max()) * np.abs(normals).sum(axis=1)
    reach = (along.max(axis=0) - along.min(axis=0) + 2.0 * slack) * (1.0 + 2.0**-50)
    rows = [
        [Fraction(a) * Fraction(unit) / Fraction(float(reach[i])) for a in normals[i].tolist()]
        for i in _basis(normals / reach[:, None] * unit)
    ]
    polytope = Polytope.of(rows)
    if len(polytope.points(_FIRST_TRIALS, SeededSource(1))) < _LEAST_KEPT * _FIRST_TRIALS:
        return None
    return polytope, Fraction(unit) * query.step


def _normals(points: Floats) -> Floats | None:
    """Normals of the facets of the hull of differences, one of each pair; None where all points lie in a plane."""
    most = _MOST_CORNERS
    hulled = _hull(points)
    while hulled is not None and most > points.shape[1]:
        some = _spread_out(points[hulled[0]], most)
        apart = (some[:, None, :] - some[None, :, :]).reshape(-1, points.shape[1])
        around = _hull(apart.round(12))
        if around is None:
            return None
        normals = around[1] / around[2][:, None]
        lead = np.argmax(np.abs(normals), axis=1)
        normals = normals * np.sign(normals[np.arange(len(normals)), lead])[:, None]
        distinct = sorted({tuple(row) for row in normals.round(9).tolist()})
        if len(distinct) <= _MOST_FACETS:
            return np.array(distinct)
        most //= 2
    return None


def _hull(points: Floats) -> tuple[Ids, Floats, Floats] | None:
    """The corners of the convex hull, normals of its facets, and how far out they are; None where it is flat."""
    if points.shape[1] == 2:
        corners = hull_corners(points)
        if len(corners) < 3:
            return None
        sides = np.roll(points[corners], -1, axis=0) - points[corners]
        normals = np.column_stack([sides[:, 1], -sides[:, 0]])
        return corners, normals, (normals * points[corners]).sum(axis=1)
    try:
        hull = heavy.spatial.ConvexHull(points)
    except (heavy.spatial.QhullError, ValueError):
        return None
    return hull.vertices.astype(np.int64), hull.equations[:, :-1], -hull.equations[:, -1]


def hull_corners(points: Floats) -> Ids:
    """The corners of the convex hull of points in a plane, in a row around it (Andrew's two chains).

    >>> hull_corners(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [0.0, 2.0], [2.0, 2.0], [1.0, 0.0]])).tolist()
    [0, 1, 4, 3]
    """
    order = np.lexsort((points[:, 1], points[:, 0]))
    # Of points above each other only the lowest and the highest can be corners.
    begins = np.flatnonzero(np.diff(points[order, 0], prepend=-np.inf))
    kept = np.zeros(len(order), dtype=bool)
    kept[begins] = kept[np.append(begins[1:], len(order)) - 1] = True
    ids = order[kept].tolist()
    places = {i: (float(points[i, 0]), float(points[i, 1])) for i in ids}
    chains = []
    for row in (ids, ids[::-1]):
        chain: list[int] = []
        for i in row:
            x, y = places[i]
            while len(chain) > 1:
                (ax, ay), (bx, by) = places[chain[-2]], places[chain[-1]]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0.0:
                    break
                chain.pop()
            chain.append(i)
        chains.append(chain[:-1])
    return np.array(chains[0] + chains[1], dtype=np.int64)


def _spread_out(corners: Floats, most: int) -> Floats:
    """At most so many of the corners, each the farthest from those before it; facets are moved out to hold the rest."""
    if len(corners) <= most:
        return corners
    chosen = [int(((corners - corners.mean(axis=0)) ** 2).sum(axis=1).argmax())]
    apart = np.full(len(corners), np.inf)
    while len(chosen) < most:
        apart = np.minimum(apart, ((corners - corners[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(apart.argmax()))
    return corners[chosen]


def _basis(rows: Floats) -> list[int]:
    """The order of rows with d first that bound a small parallelepiped: exchanges that enlarge their determinant."""
    d = rows.shape[1]
    first, rest = [], rows.copy()
    for _ in range(d):  # the row farthest from the span of those before it
        first.append(int((rest**2).sum(axis=1).argmax()))
        along = rest[first[-1]] / np.linalg.norm(rest[first[-1]])
        rest = rest - np.outer(rest @ along, along)
    for _ in range(100):
        factors = np.abs(rows @ np.linalg.inv(rows[first]))
        i, j = np.unravel_index(int(factors.argmax()), factors.shape)
        if factors[i, j] <= 1.0 + 1e-6:
            break
        first[int(j)] = int(i)
    return [*first, *(i for i in range(len(rows)) if i not in set(first))]


@dataclass(frozen=True, eq=False)
class QueryNoise:
    """K-norm noise of the query's polytope, ready to draw; everything in it is public.

    Attributes:
        polytope: K.
        dimension: The number of outputs.
        scale: The exact scale: of exp(-||x||_K/scale).
        grid: The public grid of the answer.
        rounding_upper: How far quantising f may move an output.
        event: What drawing it will cause.
    """

    name: ClassVar[str] = "query K-norm"
    p: ClassVar[str] = "polytope"
    polytope: Polytope
    dimension: int
    scale: Fraction
    grid: Fraction
    rounding_upper: float
    event: Event
    sensitivity_upper: float = 1.0

    @property
    def half_widths(self) -> Floats:
        """What each output is off by with probability at most 5 %, rounding included."""
        return np.array([self._width(quantile) for quantile in _sizes(self.polytope).quantiles])

    @property
    def half_width(self) -> float:
        """The largest of the outputs' half widths."""
        return float(self.half_widths.max())

    @property
    def simultaneous_half_width(self) -> float:
        """What no output is off by more than, with probability at least 95 %."""
        return self._width(_sizes(self.polytope).largest)

    @property
    def deviations(self) -> Floats:
        """The standard deviation of each output, from sampled points of K."""
        d, grid = self.dimension, float(self.grid)
        second = (d + 1.0) * (d + 2.0) * _sizes(self.polytope).squares
        return np.asarray(np.sqrt(second * float_up(self.scale) ** 2 + grid * grid / 12.0))

    @property
    def deviation(self) -> float:
        """The largest standard deviation of an output."""
        return float(self.deviations.max())

    def mean_half_width(self, reports: int) -> float:
        """What the mean of independent answers is off by with probability at most 5 %: as :class:`AdditiveNoise`."""
        if reports == 1:
            return self.half_width
        return max(1.959963984540055 * self.deviation, self.half_width) / math.sqrt(reports) + self.rounding_upper

    @property
    def reach_upper(self) -> float:
        """No point of K has a coordinate beyond this: K lies in the parallelepiped of its first facets."""
        return float_up(max(sum(map(abs, row), Fraction(0)) for row in self.polytope.inverse))

    def limits(self, table: Quantised) -> list[tuple[int, int]]:
        """The least and the largest integer that an honest report holds, for each output."""
        far = float(heavy.special.gammainccinv(self.dimension, NEVER)) * self.reach_upper
        return table.limits(Fraction(far) * self.scale + self.grid, self.grid)

    def _width(self, quantile: float) -> float:
        return quantile * float_up(self.scale) + float_up(self.grid) / 2.0 + self.rounding_upper

    def draw(self, center: Center, source: RandomSource | None = None) -> RoundedValues:
        """``center`` plus noise, exactly rounded to the grid."""
        return rounded_polytope(center, self.scale, self.polytope, grid=self.grid, source=source)


def _gamma_tail(shape: int, x: Floats) -> Floats:
    """P(G > x) for G ~ Gamma(shape): fewer than ``shape`` events of a Poisson process until x."""
    terms = np.ones_like(x)
    for k in range(shape - 1, 0, -1):
        terms = 1.0 + terms * x / k
    return np.asarray(terms * np.exp(-x))


@dataclass(frozen=True)
class _Sizes:
    """How far noise of scale 1 reaches: 95 % quantiles of each output and of the largest, and mean squares in K."""

    quantiles: tuple[float, ...]
    largest: float
    squares: Floats


@lru_cache(maxsize=64)
def _sizes(polytope: Polytope) -> _Sizes:
    """From sampled points of K, for every scale at once."""
    trials = min(_TRIALS, _MOST_PRODUCTS // len(polytope.facets))
    points = np.abs(polytope.points(trials, SeededSource(2)))
    each = tuple(_quantile(polytope.dimension, points[:, j]) for j in range(polytope.dimension))
    return _Sizes(each, _quantile(polytope.dimension, points.max(axis=1)), (points**2).mean(axis=0))


def _quantile(dimension: int, sizes: Floats) -> float:
    """Where P(G Y > t) is 5 %, G ~ Gamma(d + 1) and Y among ``sizes``, whose sampling error is counted."""
    # Rounded up to one of so many sizes, which makes tails larger.
    largest = float(sizes.max())
    counts = np.bincount(np.ceil(sizes * (_SIZES / largest)).astype(np.int64), minlength=_SIZES + 1)
    kept = np.flatnonzero(counts)
    some, weights = np.maximum(kept, 1) * (largest / _SIZES) * (1.0 + 1e-15), counts[kept] / len(sizes)

    def excess(t: float) -> float:
        tails = _gamma_tail(dimension + 1, t / some)
        mean = float(weights @ tails)
        error = _ERRORS * math.sqrt(max(float(weights @ (tails - mean) ** 2), 0.0) / len(sizes))
        return mean + error - (1.0 - CONFIDENCE)

    return root(excess, 0.0, largest * (dimension + 1.0) * 20.0, xtol=1e-9) * (1.0 + 1e-6)


UserLevelNoise = AdditiveNoise | QueryNoise


def user_level_candidates(
    query: Query,
    epsilon: Exact,
    delta: Exact = 0,
    *,
    noise: str | Exact = "auto",
    model: str = Model.CENTRAL,
    users: int | None = None,
) -> list[UserLevelNoise]:
    """Every additive noise that makes ``query`` (epsilon, delta)-user-level DP, the most accurate first."""
    shaped = isinstance(noise, str) and noise.strip().lower() == "polytope"
    results: list[UserLevelNoise] = []
    if not shaped:
        results += axis_candidates(query, epsilon, delta, noise=noise, model=model, users=users)
    if shaped or noise == "auto":
        results += _shaped(query, positive(epsilon, "epsilon"), *checked_model(model, users))
    if not results:
        raise ParameterError(
            "The query's differences span no polytope of few dimensions.",
            allowed="2 to 5 outputs whose values are not all in one plane",
            fix="noise='auto'",
        )
    return by_predicted_error(results, checked_model(model, users)[0])


def axis_candidates(
    query: Query,
    epsilon: Exact,
    delta: Exact = 0,
    *,
    noise: str | Exact = "auto",
    model: str = Model.CENTRAL,
    users: int | None = None,
) -> list[AdditiveNoise]:
    """Those of :func:`user_level_candidates` that know the outputs' axes only: p-norms, and Gaussian noise."""
    budget, slack = positive(epsilon, "epsilon"), probability(delta)
    place, divisor = checked_model(model, users)
    results = []
    for p in wanted_norms(noise, query.dimension, slack):
        span = query.range_upper(2 if p is None else p)
        loss = budget if p is not None else Fraction(gdp_mu_lower(float_down(budget), float_down(slack)))
        scale = Fraction(span) / (loss * divisor)
        event = UserLevelRelease(budget, delta=slack if p is None else 0, model=place)
        results.append(AdditiveNoise(p, query.dimension, scale, default_grid(scale), span, query.rounding_upper, event))
    return by_predicted_error(results, place)


def _shaped(query: Query, budget: Fraction, place: Model, divisor: int) -> list[UserLevelNoise]:
    """Noise in the norm of the query's polytope, where there is one."""
    known = query_polytope(query)
    if known is None:
        return []
    polytope, unit = known
    scale = unit / (budget * divisor)
    event = UserLevelRelease(budget, model=place)
    return [QueryNoise(polytope, query.dimension, scale, default_grid(scale), query.rounding_upper, event)]


def user_level_noise(query: Query, epsilon: Exact, delta: Exact = 0, **options: Unpack[NoiseOptions]) -> UserLevelNoise:
    """The most accurate additive noise at user level; arguments as in :func:`barrow.mechanisms.linear_noise`."""
    return user_level_candidates(query, epsilon, delta, **options)[0]
