"""Maps from noisy densities at one or several scales: histograms over the items with densities near the noisy ones.

All are post-processing. :func:`discrepancy_map` mixes bumps of all scales, entropy keeping to broad ones what the
noise does not contradict, and chooses how much entropy counts from the residual; it is the most accurate one wherever
noise matters. :func:`nearest_map` is the plain least-squares fit over the simplex, :func:`nearest_in_simplex` that of
the cells themselves. Each map says how far from its exact minimiser it may have stopped (docs/proofs/multiscale.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from barrow import heavy
from barrow.errors import ParameterError
from barrow.mechanisms.decoding.entropic import MOST_STEPS, EntropicDual, EntropicFit
from barrow.spaces.space import Floats

_MOST_HALVINGS = 14
_ON_THE_WAY = 0.05


@dataclass(frozen=True, eq=False)
class DecodedMap:
    """A histogram over the items, and how near to the exact minimiser it is.

    Attributes:
        weights: One weight for each item, none negative, with sum 1.
        gap_upper: What the objective is above its minimum by, at most (a duality gap, but for rounding).
        distance_upper: How far, at most, the weights are from those of the exact minimiser in total variation; infinity
            where nothing is known.
    """

    weights: Floats
    gap_upper: float
    distance_upper: float


def discrepancy_map(
    matrix: Any,
    values: Any,
    *,
    deviation: float,
    strongest: float,
    atoms: Any,
    prior: Floats,
    tolerance: float = 1e-3,
) -> DecodedMap:
    """The smoothest of the smooth maps that the noise does not contradict: entropy as strong as the residual allows.

    A smooth map is the mixture c of ``atoms`` that minimises ||matrix atoms c - values||^2/2 + strength KL(c || prior).
    From ``strongest`` on the strength is halved until the mean squared residual is at most 0.95 times the variance of
    the noise (from 1,600 outputs on, 1 - 2/sqrt(outputs) times). Where it hardly falls any more before that, the
    strongest with a residual within 5% of the least is taken.

    Args:
        matrix: Sparse or dense, (outputs, items): what the densities of a histogram are.
        values: The noisy densities.
        deviation: The standard deviation of the noise on each of them.
        strongest: The first strength, above 0.
        atoms: Sparse or dense, (items, atoms): each column a histogram.
        prior: Weights of the atoms above 0, with sum 1.
        tolerance: How near the exact minimiser for that strength the map is to be, in total variation.
    """
    y = _checked(matrix, values)
    if not (math.isfinite(deviation) and deviation > 0.0 and math.isfinite(strongest) and strongest > 0.0):
        raise ParameterError(
            f"deviation is {deviation!r} and strongest is {strongest!r}.",
            allowed="numbers above 0",
            fix="deviation=noise.deviation",
        )
    smoother = _smoother(matrix, y, atoms, prior)
    # The mean square of d draws varies by about 2/sqrt(d); of few values a little is left to the fit.
    allowed = 1.0 - min(0.05, 2.0 / math.sqrt(y.size))
    tried: list[tuple[float, float, Floats]] = []
    v = np.zeros(y.size)
    for halvings in range(_MOST_HALVINGS):
        strength = strongest / 2.0**halvings
        fit = smoother.fit(strength, max(tolerance, _ON_THE_WAY), v)
        v = fit.dual
        residual = y - matrix @ fit.weights
        tried.append((strength, float(residual @ residual) / (y.size * deviation**2), v))
        if tried[-1][1] <= allowed or (halvings >= 2 and tried[-1][1] > 0.98 * tried[-3][1]):
            break
    least = min(ratio for _, ratio, _ in tried)
    enough = allowed if least <= allowed else 1.05 * least
    strength, _, v = next(result for result in tried if result[1] <= enough)
    return _decoded(smoother.fit(strength, tolerance, v), strength)


def _smoother(matrix: Any, y: Floats, atoms: Any, prior: Floats) -> EntropicDual:
    forward, backward = _both_ways(matrix)
    spread, gather = _both_ways(atoms)
    return EntropicDual(y, spread, gather, forward, backward, prior, _largest_square(matrix))


def _decoded(fit: EntropicFit, strength: float) -> DecodedMap:
    return DecodedMap(fit.weights, fit.gap, math.sqrt(fit.gap / (2.0 * strength)))


def nearest_map(matrix: Any, values: Any, *, tolerance: float = 1e-6) -> DecodedMap:
    """The histogram whose densities are nearest to ``values`` in least squares, by accelerated projected gradients.

    It stops once the Frank-Wolfe gap max_q <gradient, p - q> is at most ``tolerance`` times the squared residual.
    """
    y = _checked(matrix, values)
    forward, backward = _both_ways(matrix)
    items = int(matrix.shape[1])
    steepest = _spectral_upper(forward, backward, items)
    p = np.full(items, 1.0 / items)
    ahead, momentum, gap, best, known = p, 1.0, math.inf, p, math.inf
    for step in range(1, MOST_STEPS + 1):
        after = nearest_in_simplex(ahead - backward(forward(ahead) - y) / steepest)
        if float((ahead - after) @ (after - p)) > 0.0:
            momentum = 1.0  # it went too far: start again from here
        larger = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = after + (momentum - 1.0) / larger * (after - p)
        p, momentum = after, larger
        if step % 10 == 0 or step == MOST_STEPS:
            residual = forward(p) - y
            slope = backward(residual)
            gap = float(slope @ p - slope.min())
            if gap < known:
                best, known = p, gap
            if gap <= tolerance * float(residual @ residual):
                break
    return DecodedMap(best, known, math.inf)


def _checked(matrix: Any, values: Any) -> Floats:
    y = np.asarray(values, dtype=np.float64)
    if y.ndim != 1 or y.shape[0] != matrix.shape[0] or not np.isfinite(y).all():
        raise ParameterError(
            f"The values have shape {y.shape}, or are not finite.",
            allowed=f"{matrix.shape[0]} finite numbers, one for each output",
            fix="the released values, in the order of the query's outputs",
        )
    return y


def _both_ways(matrix: Any) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    """The maps x -> matrix x and x -> matrix' x, with the transpose laid out for speed."""
    turned = matrix.T if isinstance(matrix, np.ndarray) else matrix.T.tocsr()
    return heavy.times(matrix), heavy.times(turned)


def _largest_square(matrix: Any) -> float:
    """The largest squared length of a column."""
    squares = matrix * matrix if isinstance(matrix, np.ndarray) else matrix.multiply(matrix)
    return float(np.asarray(squares.sum(axis=0)).max())


def _spectral_upper(forward: Any, backward: Any, items: int) -> float:
    """A little more than the largest eigenvalue of matrix' matrix, by powers of it."""
    vector = 1.0 + np.arange(items) % 7 / 7.0  # any start that is orthogonal to nothing in particular
    size = 1.0
    for _ in range(50):
        vector = backward(forward(vector))
        size = float(np.sqrt(vector @ vector))
        vector = vector / size
    return size * 1.05


def nearest_in_simplex(values: ArrayLike) -> Floats:
    """The point of the simplex nearest to ``values`` in Euclidean distance.

    It is max(values - t, 0) for the one number t that gives mass 1, found by one sort (docs/proofs/frequency.md).
    """
    given = np.asarray(values, dtype=np.float64)
    if given.ndim != 1 or given.size == 0 or not np.isfinite(given).all():
        raise ParameterError(
            "The values are not a row of finite numbers.", allowed="one finite number for each item", fix="check them"
        )
    # Shifting all values by one number does not move the nearest point, and keeps small differences exact enough.
    shifted = given - given.max()
    falling = np.sort(shifted)[::-1]
    excess = np.cumsum(falling) - 1.0
    number = np.arange(1, given.size + 1)
    count = int(np.flatnonzero(falling * number > excess)[-1]) + 1
    result = np.maximum(shifted - excess[count - 1] / count, 0.0)
    return np.asarray(result / result.sum())
