"""Is this matrix a metric? If not, which triple says so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from barrow.errors import ParameterError
from barrow.spaces.space import DISTANCE_ERROR, Floats

_ROUNDING = 0.25 * DISTANCE_ERROR
"""Decimal distances such as 0.1 + 0.2 against 0.3 miss the triangle inequality by rounding alone."""


def check_metric(distances: Floats, labels: Sequence[str]) -> None:
    """Raise unless ``distances`` is a metric on ``labels``; the error names the items that break it.

    >>> check_metric(np.array([[0.0, 1.0], [1.0, 0.0]]), ["a", "b"])
    >>> d = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
    >>> check_metric(d, ["a", "b", "c"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: The distances break the triangle inequality: d('a', 'c') = 5.0 is more
    than d('a', 'b') + d('b', 'c') = 2.0...
    """
    k = len(labels)
    if distances.shape != (k, k):
        raise ParameterError(
            f"The distance matrix has shape {distances.shape} for {k} labels.",
            allowed=f"({k}, {k})",
            fix="give one row and one column for each label",
        )
    _check_pairs(distances, labels)
    for i in range(k):
        # detour[b, c] = d(i, b) + d(b, c), compared with d(i, c) for all b and c at once.
        detour = distances[i][:, None] + distances
        broken = np.argwhere(distances[i][None, :] > detour * (1.0 + _ROUNDING))
        if broken.size:
            b, c = broken[0]
            raise ParameterError(
                f"The distances break the triangle inequality: d({labels[i]!r}, {labels[c]!r}) = "
                f"{distances[i, c]} is more than d({labels[i]!r}, {labels[b]!r}) + d({labels[b]!r}, {labels[c]!r}) "
                f"= {detour[b, c]}.",
                allowed="a metric: zero on the diagonal, positive off it, symmetric, and no detour is shorter",
                fix="barrow.spaces.shortest_paths(distances) gives the largest metric below these distances",
            )


def _check_pairs(distances: Floats, labels: Sequence[str]) -> None:
    diagonal = np.flatnonzero(np.diag(distances) != 0.0)
    if diagonal.size:
        i = diagonal[0]
        raise ParameterError(
            f"The distance of {labels[i]!r} to itself is {distances[i, i]}.",
            allowed="0",
            fix="set the diagonal to 0",
        )
    lopsided = np.argwhere(distances != distances.T)
    if lopsided.size:
        i, j = lopsided[0]
        raise ParameterError(
            f"d({labels[i]!r}, {labels[j]!r}) = {distances[i, j]} but d({labels[j]!r}, {labels[i]!r}) = "
            f"{distances[j, i]}.",
            allowed="a symmetric matrix",
            fix="use (D + D.T) / 2 if both directions should count alike",
        )
    low = np.argwhere((distances <= 0.0) & ~np.eye(len(labels), dtype=bool))
    if low.size:
        i, j = low[0]
        raise ParameterError(
            f"d({labels[i]!r}, {labels[j]!r}) = {distances[i, j]} for two different items.",
            allowed="a number above 0",
            fix="merge the two items into one, or give them a small distance",
        )


def shortest_paths(distances: Floats) -> Floats:
    """The largest metric that is nowhere above ``distances`` (all-pairs shortest paths).

    >>> shortest_paths(np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [5.0, 1.0, 0.0]]))[0, 2]
    np.float64(2.0)
    """
    best = np.minimum(distances, distances.T).astype(np.float64)
    np.fill_diagonal(best, 0.0)
    for via in range(len(best)):
        np.minimum(best, best[:, via][:, None] + best[via][None, :], out=best)
    return best
