"""Scales of Laplace noise on several answers at once that have the least sum of variances.

Laplace noise of scale b_i on answer i hides a move from x to y at rate 1 if sum_i |F_i(x) - F_i(y)|/b_i <= d(x, y). In
c = 1/b the sum of weighted variances is convex and the constraints are linear; multiplicative steps on the weights of
the constraints find the best c (docs/proofs/strategies.md, Section 4).
"""

from __future__ import annotations

import math

import numpy as np

from barrow.spaces.space import Floats

_MOST_ENTRIES = 4 * 10**6
_MOST_STEPS = 150
_GAP = 1.01


def least_scales(rows: Floats, far: Floats, counts: Floats) -> Floats:
    """The scales b, least sum of (counts_i b_i)^2, such that differences of rows over b are 1-Lipschitz in the 1-norm.

    Args:
        rows: The answers at each item, shape (items, answers).
        far: The distances of items.
        counts: How much a unit of each answer's error counts.

    Where there are too many pairs only near ones are looked at: the scales are then not the best, and a common factor
    is left to whoever certifies them.

    >>> line = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    >>> np.round(least_scales(np.array([[0.0, 0], [1, 0], [1, 3]]), line, np.ones(2)), 1)  # changed by different steps
    array([1., 3.])
    """
    return scales_around(_steepness(rows, far), counts)


def scales_around(steep: Floats, counts: Floats) -> Floats:
    """The same for a list of changes of answers over distances, shape (pairs, answers), without signs.

    >>> np.round(scales_around(np.array([[1.0, 0.0], [0.0, 3.0]]), np.ones(2)), 1)
    array([1., 3.])
    """
    weights = np.full(len(steep), 1.0 / len(steep))
    best, lower = (math.inf, np.ones(steep.shape[1])), 0.0
    for _ in range(_MOST_STEPS):
        # The dual at weights y: c_i = (2 counts_i^2/(B^T y)_i)^(1/3), value 4/27 of the sum's cube.
        pressure = np.maximum(weights @ steep, 1e-300)
        total = float((3.0 * (counts**2) ** (1.0 / 3.0) * (pressure / 2.0) ** (2.0 / 3.0)).sum())
        lower = max(lower, 4.0 / 27.0 * total**3)
        rates = (2.0 * counts**2 / pressure) ** (1.0 / 3.0)
        use = steep @ rates
        scales = float(use.max()) / rates
        value = float(((counts * scales) ** 2).sum())
        if value < best[0]:
            best = value, scales
        if best[0] <= _GAP * lower:
            break
        weights *= use / use.max()
        weights /= weights.sum()
    return best[1]


def _steepness(rows: Floats, far: Floats) -> Floats:
    """|F_i(x) - F_i(y)|/d(x, y), a row for each pair that is looked at."""
    x, y = np.nonzero(np.triu(far > 0.0))
    if len(x) * rows.shape[1] > _MOST_ENTRIES:
        most = max(1, _MOST_ENTRIES // rows.shape[1])
        nearest = np.argpartition(far[x, y], min(most, len(x) - 1))[:most]
        x, y = x[nearest], y[nearest]
    return np.asarray(np.abs(rows[x] - rows[y]) / far[x, y][:, None])
