"""Shuffled items with noise that has no useful pure alpha0: Gaussian on a line, planar Laplace cut off at a window.

What is reported is rounded to public cells and clamped to a public window, so that the channel is a matrix, and the
blanket of that matrix prices it (docs/proofs/blanket.md, section 4). Its pure alpha0, which a black-box bound would
need, is that of the rarest cell and many times larger than what matters.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from barrow import heavy
from barrow.accounting.blanket import Floats
from barrow.accounting.inputs import open_delta, reports_and_items
from barrow.accounting.matrix_blanket import matrix_alpha0_upper, matrix_blanket_alpha_upper
from barrow.errors import ParameterError
from barrow.numerics import Exact, float_up, whole
from barrow.promises.definitions import positive

_MOST_POINTS, _MOST_CELLS = 100, 512
_USELESS = 50.0
"""Above it not even a tenth of a user's data moved across a tenth of the line is hidden well."""
_DIGITS = 1e-9
_MANY_CHANCES = 6_400
"""Larger matrices are priced with fewer lines: an alpha up to two per cent larger, in a quarter of the time."""


def gaussian_matrix(points: ArrayLike, mu: Exact, *, cells: int = 64, reach: float = 2.0) -> Floats:
    """The chances of every cell when Gaussian noise of deviation 1/mu is added to a point, rounded and clamped.

    Args:
        points: Where items are on the line, in units of its length: from 0 to 1.
        mu: The length of the line over the deviation.
        cells: How many cells there are; the first and the last hold everything beyond the window.
        reach: How many deviations the window reaches beyond both ends.

    >>> chances = gaussian_matrix([0, 0.5, 1], 1, cells=8)
    >>> chances.shape, bool(np.allclose(chances.sum(axis=1), 1)), bool(np.allclose(chances[0], chances[2][::-1]))
    ((3, 8), True, True)
    """
    places = np.atleast_1d(np.asarray(points, dtype=np.float64))
    rate, count = float_up(positive(mu, "mu")), whole(cells, "cells")
    inside = places.ndim == 1 and len(places) <= _MOST_POINTS and bool(((places >= 0.0) & (places <= 1.0)).all())
    if not inside or not 3 <= count <= _MOST_CELLS or not 0.0 <= reach < 30.0:
        raise ParameterError(
            f"There are {places.size} points and {count} cells, and the window reaches {reach:g} deviations farther.",
            allowed=f"2 to {_MOST_POINTS} points from 0 to 1, 3 to {_MOST_CELLS} cells, a reach from 0 to 30",
            fix="points=np.linspace(0, 1, 21), cells=64, reach=2.0",
        )
    edges = np.linspace(-reach / rate, 1.0 + reach / rate, count - 1)
    z = (edges[None, :] - places[:, None]) * rate
    low = np.hstack([np.full((len(places), 1), -math.inf), z])
    high = np.hstack([z, np.full((len(places), 1), math.inf)])
    # Right of the point the difference of upper tails, so that no digits cancel in either tail.
    right = low > 0.0
    return np.where(
        right, heavy.special.ndtr(-low) - heavy.special.ndtr(-high), heavy.special.ndtr(high) - heavy.special.ndtr(low)
    )


def planar_laplace_matrix(points: ArrayLike, outputs: ArrayLike, alpha0: Exact) -> Floats:
    """Chances proportional to exp(-alpha0 distance) among the public places of a window, whatever lies beyond cut off.

    Args:
        points: Where items are, shape (items, 2), in units of the largest distance.
        outputs: The places that may be reported, shape (places, 2).
        alpha0: The rate of the noise that is cut off; the chances themselves may differ by more.

    >>> from barrow.accounting.matrix_blanket import matrix_alpha0_upper
    >>> square = [[0, 0], [0.7, 0], [0, 0.7], [0.7, 0.7]]
    >>> chances = planar_laplace_matrix(square, square, 2)
    >>> chances.shape, bool(np.allclose(chances.sum(axis=1), 1))
    ((4, 4), True)
    """
    places, seen = (np.asarray(each, dtype=np.float64) for each in (points, outputs))
    if not all(each.ndim == 2 and each.shape[1] == 2 and np.isfinite(each).all() for each in (places, seen)):
        raise ParameterError(
            f"points have the shape {places.shape}, outputs {seen.shape}.",
            allowed="finite pairs of coordinates",
            fix="outputs=points",
        )
    far = np.sqrt(((places[:, None, :] - seen[None, :, :]) ** 2).sum(axis=2))
    weights = np.exp(-float_up(positive(alpha0, "alpha0")) * (far - far.min(axis=1, keepdims=True)))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def shuffled_gaussian_alpha_upper(
    mu: Exact, *, points: int, reports: int, items: int, delta: Exact, cells: int = 64, reach: float = 0.0
) -> float:
    """The alpha, rounded up, of shuffled items with Gaussian noise, each rounded to cells and clamped to a window.

    Refused where only the sum of single reports is proved, at an alpha that promises nothing.

    Args:
        mu: The length of the line over the deviation of an item's noise.
        points: How many equally spaced places items have on the line.
        reports: N, all reports that are mixed.
        items: m, those of one user.
        delta: The delta of the release.
        cells: As in :func:`gaussian_matrix`.
        reach: As in :func:`gaussian_matrix`. Cells beyond the line's ends are so rarely reported by items from the
            other end that they cost most of alpha and tell next to nothing: there are none by default.

    >>> 0.1 < shuffled_gaussian_alpha_upper(1, points=5, reports=10**7, items=100, delta="1e-9") < 0.4
    True
    """
    reports_and_items(reports, items)
    open_delta(delta, "Gaussian noise")
    places = np.linspace(0.0, 1.0, max(2, whole(points, "points")))
    matrix = gaussian_matrix(places, mu, cells=cells, reach=reach)
    apart = np.abs(places[:, None] - places[None, :])
    fast = matrix.size > _MANY_CHANCES
    result = matrix_blanket_alpha_upper(matrix, apart, reports=reports, items=items, delta=delta, fast=fast)
    if result > _USELESS and result >= 0.99 * items * matrix_alpha0_upper(matrix, apart):
        least = shuffled_gaussian_alpha_lower(mu, reports=reports, items=items, delta=delta, reach=reach)
        raise ParameterError(
            f"Mixing {reports:,} reports of noise this small hides next to nothing: alpha = {result:,.0f} is what the "
            f"reports cost without any mixing, and an attack shows that no proof can go below {least:,.1f}.",
            allowed="more noise (a smaller mu), more reports, fewer items of each user, or a window of reach = 0",
            fix=f"mu={float_up(positive(mu, 'mu')) / 2.0:.3g}",
        )
    return result


def shuffled_gaussian_alpha_lower(mu: Exact, *, reports: int, items: int, delta: Exact, reach: float = 0.0) -> float:
    """An alpha that an attack rules out: no proof can give the reports of :func:`shuffled_gaussian_alpha_upper` less.

    All others hold the item at one end; the attacker counts reports in the cell beyond the other end, where either all
    or none of a user's items are (docs/proofs/approximate.md).

    >>> shuffled_gaussian_alpha_lower(5, reports=10**7, items=100, delta="1e-9") > 30
    True
    """
    reports_and_items(reports, items)
    rate, missed = float_up(positive(mu, "mu")), open_delta(delta, "Gaussian noise") * (1.0 + _DIGITS)
    near, far = heavy.special.ndtr(-reach), heavy.special.ndtr(-rate - reach)
    counts = np.arange(items)  # more than so many
    seen = heavy.special.bdtrc(counts, items, near) * (1.0 - _DIGITS) - missed
    by_others = np.maximum(heavy.special.bdtrc(counts, reports, far), 1e-300) * (1.0 + _DIGITS)
    possible = seen > 0.0
    return float(np.log(seen[possible] / by_others[possible]).max(initial=0.0)) * (1.0 - _DIGITS)
