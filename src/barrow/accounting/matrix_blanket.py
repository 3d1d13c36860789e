"""The blanket accountant for any finite randomiser that is given as a matrix.

Each change x -> x' is scaled to unit first-order rate; changes of similar shape form a class, and for each slope c the
distribution of xi is replaced by a few-valued one that lies above all of the class in convex order: the largest of
their call functions E(xi - t)_+, joined by chords between the points of a grid. The sum of N independent copies is then
integrated as for response randomisers, and each change gets its own rate, its scale times the rate of its class. The
cost of a user's change is the concave majorant of those rates over the distances. Proofs: docs/proofs/blanket.md,
section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow import heavy
from barrow.accounting.blanket import ENTRY, search_alpha0, with_entries
from barrow.accounting.excess import log_excess_upper, rate_of_excess
from barrow.accounting.flow import _FLOOR_SHARE, FlowProfile
from barrow.accounting.inputs import alpha_down, open_delta, reports_and_items
from barrow.accounting.profile import LARGEST_LEVEL, inflation_upper
from barrow.errors import ParameterError
from barrow.numerics import Exact, float_down
from barrow.numerics.gdp import gdp_epsilon_upper
from barrow.promises import ItemChannel

Floats = NDArray[np.float64]

MOST_INPUTS = 100
MOST_OUTPUTS = 512
"""A price takes seconds up to 50 inputs and less than a minute at these limits; a larger matrix is refused."""

_POINTS = 40
_SAMPLE = 400
_WIDEST = 1.01
"""A class whose distribution has a variance up to this (its largest kind has 1) is not split any more."""

_STEADY = 9
"""Decimals by which kinds are compared: those that are alike but for rounding are told apart alike everywhere."""

_BLURS = 35.0
_ENDS = 1e-9
"""Mass moved from 0 to both ends of the grid: it raises call functions by more than all their rounding."""

_ROOM = 1e-6
"""The share of the blanket that is given up, so that there is mass at 0 to move."""

_MATCH = 1e-12
"""Changes whose entries agree to this are treated as one; ``ENTRY`` pays for it and for the rounding of entries."""

_NEAR = 1e-4
"""A change is scaled up by at most 1/_NEAR times its unit, so that the rounding of differences stays small."""


@dataclass(frozen=True)
class _Kinds:
    """Changes that differ: rows of u = (A[x,y] - A[x',y])/(2 g(y)) and v = (A[x,y] + A[x',y])/(2 g(y))."""

    u: Floats
    v: Floats
    g: Floats
    scale: Floats
    of_pair: NDArray[np.intp]
    distance: Floats
    alpha0: float


def _check(matrix: ArrayLike, distances: ArrayLike) -> tuple[Floats, Floats]:
    a, d = np.array(matrix, dtype=np.float64), np.array(distances, dtype=np.float64)
    if a.ndim != 2 or not (2 <= a.shape[0] <= MOST_INPUTS and 2 <= a.shape[1] <= MOST_OUTPUTS):
        raise ParameterError(
            f"The matrix has shape {a.shape}.",
            allowed=f"2 to {MOST_INPUTS} rows (inputs) and 2 to {MOST_OUTPUTS} columns (outputs)",
            fix="give a smaller randomiser, or use the flow accountant, which needs alpha0 only",
        )
    if d.shape != (a.shape[0], a.shape[0]):
        raise ParameterError(
            f"There are {a.shape[0]} inputs but the distances have shape {d.shape}.",
            allowed="one row and one column for each input",
            fix="distances[i][j] = d(x_i, x_j)",
        )
    off = ~np.eye(len(d), dtype=bool)
    if not (np.all(d == d.T) and np.all(np.diag(d) == 0.0) and np.all(d[off] > 0.0) and np.all(d[off] <= 1.0)):
        raise ParameterError(
            "The distances are not symmetric with zeros on the diagonal and values in (0, 1] elsewhere.",
            allowed="a metric with values in [0, 1]",
            fix="divide all distances by the diameter of the space",
        )
    if not np.all((a >= 0.0) & (a <= 1.0)) or np.max(np.abs(a.sum(axis=1) - 1.0)) > 1e-12:
        raise ParameterError(
            "The rows of the matrix are not probabilities.",
            allowed="entries in [0, 1] and rows that sum to 1 within 1e-12",
            fix="matrix / matrix.sum(axis=1, keepdims=True)",
        )
    a = a[:, a.max(axis=0) > 0.0] / a.sum(axis=1, keepdims=True)
    if np.min(a) < 1e-200:
        raise ParameterError(
            "Some output is possible for one input and impossible for another.",
            allowed="columns that are positive, or zero, throughout (else no alpha0 is finite)",
            fix="mix the randomiser with a little uniform noise",
        )
    return a, d


def _hull(distance: Floats, rates: Floats) -> tuple[tuple[float, float], ...]:
    """The increasing concave majorant of (0, 0) and all (distance, rate), without its point at 0."""
    hull = [(0.0, 0.0)]
    for d, k in sorted(zip(distance.tolist(), rates.tolist(), strict=True), key=lambda point: (point[0], -point[1])):
        if k <= hull[-1][1]:
            continue
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (d - hull[-2][0]) <= (k - hull[-2][1]) * (
            hull[-1][0] - hull[-2][0]
        ):
            hull.pop()
        hull.append((d, k))
    return tuple(hull[1:])


def _kinds(matrix: ArrayLike, distances: ArrayLike) -> _Kinds:
    a, d = _check(matrix, distances)
    x, y = np.nonzero(~np.eye(len(a), dtype=bool))
    g = a.min(axis=0)
    logs = np.log(a)
    loss = np.max(np.abs(logs[x] - logs[y]), axis=1)
    if float(loss.max()) <= ENTRY:
        raise ParameterError(
            "All rows of the matrix are equal.", allowed="a randomiser that depends on its input", fix="cost is 0"
        )
    alpha0 = float(np.max((loss + ENTRY) / d[x, y])) * (1.0 + 1e-12)
    # The order of outputs does not matter: pairs whose sorted rows agree are one kind.
    keys = np.rint(np.stack([logs[x], logs[y], np.broadcast_to(np.log(g), logs[x].shape)]) / _MATCH).astype(np.int64)
    order = np.lexsort(keys, axis=-1)
    flat = np.take_along_axis(keys, order[None], axis=-1).transpose(1, 0, 2).reshape(len(x), -1)
    _, first, of_pair = np.unique(flat, axis=0, return_index=True, return_inverse=True)
    weight = np.take(g, order[first]) * (1.0 - _ROOM)
    own, other = (np.take_along_axis(a[z[first]], order[first], axis=1) for z in (x, y))
    u, v = (own - other) / (2.0 * weight), (own + other) / (2.0 * weight)
    spread, size = np.sqrt(np.sum(weight * u * u, axis=1)), np.sqrt(np.sum(weight * v * v, axis=1))
    # Any scale is valid. The best are those of the first-order hull: what lies below it is then small in its class.
    of_pair, distance = of_pair.ravel(), d[x, y]
    nearest = np.full(len(first), np.inf)
    np.minimum.at(nearest, of_pair, distance)
    knots = ((0.0, 0.0), *_hull(distance, spread[of_pair]))
    on_hull = np.interp(nearest, [point for point, _ in knots], [value for _, value in knots])
    scale = np.maximum(np.maximum(spread, on_hull), _NEAR * size)
    return _Kinds(u / scale[:, None], v, weight, scale, of_pair, distance, alpha0)


def _points(xi: Floats, g: Floats) -> Floats:
    """Increasing points that enclose all values, hold 0, and are dense where the values are."""
    reach = 1.05 * max(float(np.max(np.abs(xi))), 1.0)
    # Some of the values tell already where there are too many different ones to take each as a point.
    few = xi.size <= 10_000 and len(np.unique(np.round(xi.ravel()[:_SAMPLE], 9))) <= _POINTS
    inner = np.unique(np.round(xi, 9)) if few else np.empty(0)
    if not few or len(inner) > _POINTS:
        edges = np.linspace(-reach, reach, 2049)
        weight, _ = np.histogram(xi, bins=2048, range=(-reach, reach), weights=g)
        # A cell of width h costs about h^2 per mass: the best density of points goes with the cube root of the mass.
        fine = np.concatenate([[0.0], np.cumsum(np.cbrt(weight / weight.sum()) + 1e-4)])
        inner = np.interp(np.linspace(0.0, fine[-1], _POINTS), fine, edges)
    inner = inner[(np.abs(inner) < reach) & (np.abs(inner) > 1e-6 * reach)]
    points = np.sort(np.concatenate([[-reach, 0.0, reach], inner]))
    # Points that are too close would make slopes noisy; 0 and the ends stay.
    close = (np.diff(points, append=np.inf) < 1e-6 * reach) & (points != 0.0) & (points != -reach)
    return np.asarray(points[~close | (points == reach)])


def dominating_distribution(xi: Floats, g: Floats, mean: float) -> tuple[Floats, Floats]:
    """Masses and points of a distribution above all rows of ``xi`` in convex order; what is missing to 1 is at 0.

    Args:
        xi: Values, one row for each distribution; all rows have the same mean.
        g: Masses of the values, of the same shape; the rest is at 0.
        mean: The mean of all rows.
    """
    points = _points(xi, g)
    cell = np.clip(np.searchsorted(points, xi, side="right") - 1, 0, len(points) - 2)
    low, high = points[cell], points[cell + 1]
    right = (xi - low) / (high - low)
    size = len(points)
    row = np.arange(len(xi))[:, None] * size
    spread = np.bincount((row + cell).ravel(), (g * (1.0 - right)).ravel(), minlength=len(xi) * size)
    spread += np.bincount((row + cell + 1).ravel(), (g * right).ravel(), minlength=len(xi) * size)
    masses = spread.reshape(len(xi), size)
    zero = int(np.searchsorted(points, 0.0))
    masses[:, zero] += 1.0 - masses.sum(axis=1)
    mass = masses[0]
    if len(masses) > 1:
        # Call functions at the points by two sums from the top; their largest is convex; its kinks are the masses.
        gaps = np.diff(points)
        slopes = np.cumsum(masses[:, ::-1], axis=1)[:, ::-1][:, 1:]
        calls = np.cumsum((slopes * gaps)[:, ::-1], axis=1)[:, ::-1]
        call = np.concatenate([calls.max(axis=0), [0.0]])
        slope = np.concatenate([[1.0], -np.diff(call) / gaps, [0.0]])
        mass = np.maximum(-np.diff(slope), 0.0)
    mass[[0, -1]] += _ENDS / 2.0
    # What rounding changed in the mean is put right by a little more mass at one end.
    off = mean - float(np.dot(mass, points))
    mass[-1 if off > 0.0 else 0] += abs(off) / points[-1]
    mass[zero] = 0.0
    return mass, points


@dataclass(frozen=True)
class _Effort:
    """How many lines and classes are used: more are tighter and slower, any number is valid."""

    lines: int
    classes: int


_FULL = _Effort(64, 32)
_FAST = _Effort(20, 24)
"""A quarter of the time, and alpha two per cent larger: for events, which are priced often."""
_QUICK = _Effort(12, 8)
"""For a first look at how deep the levels must be."""


def _steady(values: Floats) -> Floats:
    """Without the last digits, in which processors differ."""
    return np.asarray(np.round(values, _STEADY))


def _classes(kinds: _Kinds, most: int) -> list[NDArray[np.intp]]:
    """Kinds of similar shape together: the widest class is split until none is much too wide."""
    at = np.array([-8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0])
    shape = np.stack([np.sum(kinds.g * np.maximum(kinds.u - t, 0.0), axis=1) for t in at], axis=1)
    variance = np.sum(kinds.g * kinds.u**2, axis=1)

    def width(members: NDArray[np.intp]) -> float:
        if len(members) == 1:
            return 0.0
        mass, points = dominating_distribution(kinds.u[members], kinds.g[members], 0.0)
        return round(float(np.dot(mass, points * points)), _STEADY)

    def away(members: NDArray[np.intp], kind: Floats) -> Floats:
        return _steady(np.linalg.norm(shape[members] - kind, axis=1))

    results = [np.arange(len(shape))]
    widths = [width(results[0])]
    while len(results) < most and max(widths) > _WIDEST:
        members = results.pop(worst := int(np.argmax(widths)))
        widths.pop(worst)
        # The kind farthest from the widest one and the kind farthest from that: all others go with the nearer.
        start = shape[members[int(np.argmax(_steady(variance[members])))]]
        one = shape[members[int(np.argmax(away(members, start)))]]
        other = shape[members[int(np.argmax(away(members, one)))]]
        nearer = away(members, one) <= away(members, other)
        if np.all(nearer):
            nearer = np.arange(len(members)) < len(members) // 2
        for part in (members[nearer], members[~nearer]):
            results.append(part)
            widths.append(width(part))
    return results


def _class_rate(kinds: _Kinds, members: NDArray[np.intp], reports: float, level: float, lines: int) -> float:
    """The kappa of a class whose changes are scaled to unit first-order deviation."""
    u, v, g = kinds.u[members], kinds.v[members], kinds.g[members]

    def log_upper(c: float) -> float:
        mass, points = dominating_distribution(u - c * v, g, -c)
        used = mass > 0.0
        if not float(mass.sum()) < 1.0:
            return math.inf
        return log_excess_upper(mass[used], points[used], c, reports, rounding=1e-9, blurs=_BLURS)

    return rate_of_excess(log_upper, level / math.sqrt(reports), level, lines=lines)


def _rates(kinds: _Kinds, reports: float, level: float, effort: _Effort) -> Floats:
    """The kappa of each ordered pair of inputs, rounded up (docs/proofs/blanket.md, section 4)."""
    shape = np.empty(len(kinds.scale))
    for members in _classes(kinds, effort.classes):
        shape[members] = _class_rate(kinds, members, reports, level, effort.lines)
    return np.array([with_entries(float(rate)) for rate in kinds.scale * shape])[kinds.of_pair]


def matrix_blanket_profile(
    matrix: ArrayLike, distances: ArrayLike, *, reports: int, items: int, delta: Exact, fast: bool = False
) -> FlowProfile | None:
    """The GDP profile of a shuffled release of a randomiser given as a matrix; None where nothing can be said.

    Args:
        matrix: matrix[x][y], the probability of output y for input x; entries are good to a relative 1e-12.
        distances: distances[x][x'], a metric on the inputs with values in [0, 1].
        reports: N, all reports in the multiset.
        items: m, those of one user.
        delta: The delta at which the profile will be used.
        fast: Whether to take a quarter of the time, for an alpha that is about two per cent larger.

    >>> response = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]
    >>> apart = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> profile = matrix_blanket_profile(response, apart, reports=10**7, items=10, delta="1e-9")
    >>> 1.0 < profile.mu_upper(1.0) / (10 * math.sqrt(2 * 0.0625 / 0.25 / 10**7)) < 1.02
    True
    """
    n, m = reports_and_items(reports, items)
    small = open_delta(delta, "blanket")
    head, floor = small * (1.0 - 2.0 * _FLOOR_SHARE), small * _FLOOR_SHARE
    return _profile(_kinds(matrix, distances), float_down(Fraction(n)), m, head, floor, _FAST if fast else _FULL)


def _profile(kinds: _Kinds, n_float: float, m: int, head: float, floor: float, effort: _Effort) -> FlowProfile | None:
    below, deepest = (-float(heavy.special.ndtri_exp(math.log(tail))) for tail in (head, floor))
    guess = m * 2.0 * float(kinds.scale.max()) / math.sqrt(n_float) * 1.01
    # A quick look first says how deep the levels must be; what it finds is not used otherwise.
    for tried in [effort] * 4 if effort is _FULL else [_QUICK, *[effort] * 4]:
        level = max(below + guess, deepest)
        if not level <= min(LARGEST_LEVEL, 38.0):
            return None
        rates = _rates(kinds, n_float, level, tried)
        largest = float(rates.max())
        inflation = inflation_upper(largest, level) if largest < math.inf else math.inf
        if not inflation < math.inf or inflation * largest >= 2.0 * level:
            return None
        knots = _hull(kinds.distance, rates)
        profile = FlowProfile(kinds.alpha0, m, "standard", knots[0][0], level, inflation, knots)
        reached = profile.mu_upper(1.0)
        if tried is effort and reached <= guess:
            return profile
        guess = reached * 1.004
    return None


def matrix_blanket_alpha_upper(
    matrix: ArrayLike, distances: ArrayLike, *, reports: int, items: int, delta: Exact, fast: bool = False
) -> float:
    """The alpha, rounded up, that shuffled reports of this randomiser cost; never more than its alpha0 times m.

    ``fast`` is as in :func:`matrix_blanket_profile`.

    >>> response = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]
    >>> apart = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> 0 < matrix_blanket_alpha_upper(response, apart, reports=10**7, items=10, delta="1e-9") < 0.02
    True
    """
    profile = matrix_blanket_profile(matrix, distances, reports=reports, items=items, delta=delta, fast=fast)
    pure = matrix_alpha0_upper(matrix, distances) * items * (1.0 + 1e-12)
    return pure if profile is None else min(pure, profile.alpha_upper(open_delta(delta, "blanket")))


def matrix_alpha0_upper(matrix: ArrayLike, distances: ArrayLike) -> float:
    """The smallest alpha0, rounded up, for which the matrix is alpha0-d_X-DP.

    >>> 1.0986 < matrix_alpha0_upper([[0.75, 0.25], [0.25, 0.75]], [[0, 1], [1, 0]]) < 1.0987
    True
    """
    return _kinds(matrix, distances).alpha0


@dataclass(frozen=True)
class MatrixFamily:
    """Randomisers given as matrices, one for each alpha0.

    Args:
        matrix: alpha0 to the matrix, which must be alpha0-d_X-DP for the distances.
        distances: distances[x][x'], a metric on the inputs with values in [0, 1].
        fast: Whether to search quickly, within about two per cent of alpha.

    >>> import numpy as np
    >>> def binary(alpha0):
    ...     p = 1 / (1 + np.exp(-alpha0))
    ...     return [[p, 1 - p], [1 - p, p]]
    >>> MatrixFamily(binary, [[0, 1], [1, 0]]).at(1.0).shape
    (2, 2)
    """

    matrix: Callable[[float], ArrayLike]
    distances: ArrayLike
    fast: bool = False

    def at(self, alpha0: float) -> Floats:
        """The matrix at ``alpha0``; one that is not alpha0-d_X-DP is refused."""
        result = np.array(self.matrix(alpha0), dtype=np.float64)
        needed = matrix_alpha0_upper(result, self.distances)
        apart = np.array(self.distances, dtype=np.float64)
        if needed > alpha0 * (1.0 + 1e-9) + 2.0 * ENTRY / float(np.min(apart[apart > 0.0])):
            raise ParameterError(
                f"The matrix for alpha0 = {alpha0:g} is only {needed:g}-d_X-DP.",
                allowed="a family whose matrix at alpha0 is alpha0-d_X-DP",
                fix="rescale the parameter of the family",
            )
        return result


def matrix_blanket_alpha0_lower(alpha: Exact, family: MatrixFamily, *, reports: int, items: int, delta: Exact) -> float:
    """The largest alpha0, rounded down, certified for this family; never less than alpha/m.

    Every alpha0 that is returned was itself priced; the family need not be monotone.

    >>> def binary(alpha0):
    ...     p = 1 / (1 + np.exp(-alpha0))
    ...     return [[p, 1 - p], [1 - p, p]]
    >>> family = MatrixFamily(binary, [[0, 1], [1, 0]])
    >>> matrix_blanket_alpha0_lower(1, family, reports=10**7, items=10, delta="1e-9") > 0.1
    True
    """
    n, m = reports_and_items(reports, items)
    target, small = alpha_down(alpha), open_delta(delta, "blanket")

    def cost(alpha0: float) -> float:
        profile = matrix_blanket_profile(
            family.at(alpha0), family.distances, reports=n, items=m, delta=Fraction(small), fast=family.fast
        )
        return math.inf if profile is None else profile.alpha_upper(small)

    fits = first_order_matrix(target, family, n, m, small)
    pure = float_down(Fraction(target) / m)
    if not family.fast:
        return search_alpha0(cost, fits, pure, target)
    # A price takes a second: the last two per cent of alpha, one of alpha0, are not searched for.
    return search_alpha0(cost, fits, pure, target, within=2e-2, steep=2.5)


def first_order_matrix(target: float, family: MatrixFamily, n: int, m: int, small: float) -> Callable[[float], bool]:
    """As :func:`barrow.accounting.blanket.first_order`, for a family of matrices."""
    apart = np.array(family.distances, dtype=np.float64)
    pairs = np.triu_indices(len(apart), 1)

    def fits(alpha0: float) -> bool:
        # Sums over outputs of (A[x,y] -+ A[x',y])^2/(4 g) for all pairs at once: the scales of :func:`_kinds`.
        a = np.array(family.matrix(alpha0), dtype=np.float64)
        products = a @ (a / (4.0 * (1.0 - _ROOM) * a.min(axis=0))).T
        own = np.diag(products)
        both, cross = np.add.outer(own, own)[pairs], 2.0 * products[pairs]
        rates = np.sqrt(np.maximum(both - cross, _NEAR**2 * (both + cross)))
        knots = _hull(apart[pairs], rates * 2.0 / math.sqrt(n))
        return all(gdp_epsilon_upper(min(m * k, 1e6), small) <= target * d for d, k in knots)

    return fits


@lru_cache(maxsize=256)
def channel_profile(channel: ItemChannel, *, reports: int, items: int, head: float, floor: float) -> FlowProfile | None:
    """The profile of a channel of an event, with the deltas of its two ends; None where nothing can be said."""
    n, m = reports_and_items(reports, items)
    try:
        return _profile(_kinds(*channel_arrays(channel)), float_down(Fraction(n)), m, head, floor, _FAST)
    except ParameterError:
        return None


def channel_arrays(channel: ItemChannel) -> tuple[Floats, Floats]:
    """The probabilities, each the nearest float, and the distances as a square.

    >>> channel_arrays(ItemChannel([[3, 1], [1, 3]], [1.0]))[0].tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    total = sum(channel.weights[0])
    matrix = np.array([[weight / total for weight in row] for row in channel.weights])
    distances = np.zeros((channel.items, channel.items))
    distances[np.triu_indices(channel.items, 1)] = channel.distances
    return matrix, distances + distances.T


def channel_within(channel: ItemChannel, *, reports: int, items: int, delta: Exact) -> FlowProfile | None:
    """The profile of a channel for use at ``delta``."""
    small = open_delta(delta, "blanket")
    head, floor = small * (1.0 - 2.0 * _FLOOR_SHARE), small * _FLOOR_SHARE
    return channel_profile(channel, reports=reports, items=items, head=head, floor=floor)
