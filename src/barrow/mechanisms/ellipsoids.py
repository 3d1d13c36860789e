"""The covariance of least trace for Gaussian noise on a workload of linear questions, with a bound from its dual.

Moving one item from x to y changes the answers by F[x] - F[y]. Gaussian noise of covariance S hides this at rate 1 if
(F[x] - F[y])^T S^-1 (F[x] - F[y]) <= d(x, y)^2: every difference over its distance lies in the ellipsoid of S. Of all
such S the one of least trace has the least sum of squared errors. Weights p on the pairs, with sum 1, bound it from
below by (trace of M^(1/2))^2, M = sum p_xy (F[x] - F[y]) (F[x] - F[y])^T/d(x, y)^2, and a multiple of M^(1/2) is
feasible; multiplicative steps close the gap between the two (docs/proofs/strategies.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.spaces.space import Floats

GAP = 1.01
"""A covariance is good enough within this of its dual bound."""
MOST_DENSE = 2500
"""All pairs of items are looked at in every step."""
MOST_STEPS = 400
_NEAREST = 6
_LEAST_ROOT = 1e-7
"""Relative to the largest: M^(1/2) is not resolved below it, and is raised to it."""


@dataclass(frozen=True, eq=False, repr=False)
class Ellipsoid:
    """An ellipsoid that holds every difference of two items' rows over their distance.

    Attributes:
        root: R, with R R^T = S: noise R g, g standard normal, has the covariance S.
        inverse: The inverse of the root.
        trace: The trace of S.
        trace_lower: No ellipsoid that holds all differences has a smaller trace.
        steps: How many steps it took.

    >>> result = least_trace(np.eye(3), np.ones((3, 3)) - np.eye(3))
    >>> round(result.trace, 6), round(result.trace_lower, 6)  # three items at distance 1: S is twice a projection
    (4.0, 4.0)
    """

    root: Floats
    inverse: Floats
    trace: float
    trace_lower: float
    steps: int

    @property
    def gap(self) -> float:
        """The trace over its lower bound: 1 where the ellipsoid is the best."""
        return self.trace / self.trace_lower


def least_trace(rows: Floats, far: Floats, *, gap: float = GAP, most: int = MOST_STEPS) -> Ellipsoid:
    """The ellipsoid of least trace around all differences of ``rows`` over the distances ``far``.

    Args:
        rows: F, shape (items, outputs): the answers at each item. Only differences of rows count.
        far: The distances, shape (items, items); items at distance 0 must have equal rows.
        gap: Stop as soon as the trace is within this factor of the lower bound.
        most: Stop after so many steps in any case; ``Ellipsoid.gap`` says how good the result is.

    >>> line = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    >>> prefixes = np.triu(np.ones((4, 3)))  # each step of the line changes one output
    >>> np.round(least_trace(prefixes, line, gap=1.0001).root, 3) + 0.0
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    if len(rows) > MOST_DENSE:
        raise ParameterError(
            f"There are {len(rows):,} items.", allowed=f"at most {MOST_DENSE:,}", fix="least_trace_around their changes"
        )
    return _stepped(_AllPairs(rows, far), gap, most)


def least_trace_around(changes: Floats, *, gap: float = GAP, most: int = MOST_STEPS) -> Ellipsoid:
    """The same around a list of differences over their distances, shape (pairs, outputs).

    >>> result = least_trace_around(np.array([[1.0, 0.0], [0.0, 2.0]]), gap=1.0001)
    >>> round(result.trace, 3)  # an ellipse through both, with half axes of 1 and 2
    5.0
    """
    return _stepped(_Listed(changes), gap, most)


def _stepped(pairs: _AllPairs | _Listed, gap: float, most: int) -> Ellipsoid:
    weights = pairs.first
    weights = weights / (weights.sum() * pairs.counted)
    best = _BestEllipsoid()
    for step in range(1, most + 1):
        # Eigenvalues of M^(1/2) that are not resolved are raised: where there is no direction at all (the rows do not
        # span the space) nothing changes, as no difference has a part there.
        moments = pairs.moments(weights)
        values, ways = heavy.linalg.eigh((moments + moments.T) / 2.0, driver="evd", check_finite=False)
        roots = np.sqrt(np.maximum(values, 0.0))
        trace_root = float(roots.sum())
        roots = np.maximum(roots, roots[-1] * _LEAST_ROOT)
        gains = pairs.gains(ways / np.sqrt(roots))
        best.see(float(gains.max()), trace_root, roots, ways)
        if best.trace <= gap * best.lower or step == most:
            break
        # Weights grow where the constraint is violated; pairs that had none get some as soon as theirs is.
        fresh = (weights == 0.0) & (gains > trace_root * math.sqrt(gap))
        weights = weights * (gains / trace_root) ** (1.5 if step > 3 else 1.0)
        weights[fresh] = float(np.median(weights[weights > 0.0]))
        weights /= weights.sum() * pairs.counted
    return best.ellipsoid(step)


class _AllPairs:
    """Every pair of items, in both orders."""

    counted = 0.5

    def __init__(self, rows: Floats, far: Floats) -> None:
        self._rows = rows
        self._inverse = np.divide(1.0, far, out=np.zeros_like(far), where=far > 0.0) ** 2
        self.first = _first_weights(far)

    def moments(self, weights: Floats) -> Floats:
        shares = weights * self._inverse
        laplacian = np.diag(shares.sum(axis=1)) - shares
        return np.asarray(self._rows.T @ (laplacian @ self._rows))

    def gains(self, whitening: Floats) -> Floats:
        """v^T M^(-1/2) v for every pair."""
        whitened = self._rows @ whitening
        squares = np.einsum("ij,ij->i", whitened, whitened)
        apart = np.maximum(squares[:, None] + squares[None, :] - 2.0 * (whitened @ whitened.T), 0.0)
        return np.asarray(apart * self._inverse)


class _Listed:
    """Changes over distances, one by one."""

    counted = 1.0

    def __init__(self, changes: Floats) -> None:
        self._changes = changes
        self.first = np.ones(len(changes))

    def moments(self, weights: Floats) -> Floats:
        return np.asarray((self._changes * weights[:, None]).T @ self._changes)

    def gains(self, whitening: Floats) -> Floats:
        """v^T M^(-1/2) v for every change."""
        whitened = self._changes @ whitening
        return np.asarray(np.einsum("ij,ij->i", whitened, whitened))


class _BestEllipsoid:
    """The least trace and the largest lower bound so far; they may come from different steps."""

    def __init__(self) -> None:
        self.trace, self.lower = math.inf, 0.0
        self._parts: tuple[float, Floats, Floats] | None = None

    def see(self, largest: float, trace_root: float, roots: Floats, ways: Floats) -> None:
        self.lower = max(self.lower, trace_root**2)
        if largest * trace_root < self.trace:
            self.trace, self._parts = largest * trace_root, (largest, roots, ways)

    def ellipsoid(self, steps: int) -> Ellipsoid:
        if self._parts is None:
            raise ParameterError("No step was made.", allowed="at least one step", fix="most=400")
        largest, roots, ways = self._parts
        spread = np.sqrt(roots * largest)
        root = (ways * spread) @ ways.T
        back = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0.0)
        return Ellipsoid(root, (ways * back) @ ways.T, self.trace, self.lower * (1.0 - 1e-9), steps)


def _first_weights(far: Floats) -> Floats:
    """Equal weights on pairs of nearest items and on a tree that joins all."""
    items = len(far)
    off = np.where(far > 0.0, far, math.inf)
    reach = np.partition(off, min(_NEAREST, items - 1) - 1, axis=1)[:, min(_NEAREST, items - 1) - 1]
    near = off <= np.maximum(reach[:, None], reach[None, :]) * (1.0 + 1e-9)
    tree = heavy.minimum_spanning_tree(far).toarray() > 0.0
    return np.asarray((near | tree | tree.T).astype(np.float64))
