"""Laplace noise in coordinates, followed by the nearest item: text by its vectors, places by their position.

The noise has its ideal real law (density proportional to exp(-alpha0 ||x||)), rounded once and exactly, and what comes
after is a function of the rounded point: no matrix is needed, and nothing is approximated.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.noise import RandomSource, rounded_knorm
from barrow.noise.source import checked_source
from barrow.numerics import Exact
from barrow.randomisers.randomiser import Integers, Randomiser, item_counts, wanted_alpha0
from barrow.spaces import Space
from barrow.spaces.space import Floats, Ids

_MOST_ITEMS = 10**6
"""Sample one by one, at tens of microseconds each."""


class LaplaceRandomiser(Randomiser):
    """The vector of an item plus multivariate Laplace noise, then the nearest item."""

    kind = "laplace"
    description = "Laplace noise in coordinates, then the nearest item"
    most_items: ClassVar[int | None] = _MOST_ITEMS

    def __init__(self, space: Space, alpha0: Exact) -> None:
        if "laplace" not in space.geometry.randomisers:
            raise ParameterError(
                f"Laplace noise in coordinates needs vectors, and the space is {space.kind!r}.",
                allowed="euclidean with a step, or an embedding",
                fix="exponential(space, alpha0), which works on every finite space",
            )
        self.space = space
        self.alpha0_upper = wanted_alpha0(alpha0)
        # exp(-||z||/scale) changes by at most exp(||x - x'||/scale) = exp(alpha0 d), d = ||x - x'||/diameter.
        size = Fraction(space.diameter)
        if space.geometry.angular:
            # Between directions ||x - x'|| is a chord, which is shorter than its angle in radians.
            size = Fraction(math.radians(space.diameter) * (1.0 + 2.0**-40))
        self._scale = size / self.alpha0_upper
        self._points = space.geometry.points

    def from_items(self, ids: ArrayLike, *, source: RandomSource | None = None) -> Ids:
        """One report for each item."""
        items = self.space._ids(ids).ravel()
        if len(items) > _MOST_ITEMS:
            raise self._too_many()
        origin = checked_source(source)
        noisy = np.zeros((len(items), self._points.shape[1]))
        for i, x in enumerate(items.tolist()):
            noisy[i] = rounded_knorm(self._points[x].tolist(), self._scale, 2, source=origin).values
        return self._nearest(noisy)

    def _nearest(self, points: Floats) -> Ids:
        """The nearest item: of a grid the cell of the nearest point inside, of an embedding the nearest vector."""
        if self.space.geometry.lattice is not None:
            return self.space.encode(points, unknown="nearest")
        result = np.zeros(len(points), dtype=np.int64)
        half = (self._points**2).sum(axis=1) / 2.0
        step = max(1, 2**24 // len(self._points))
        for start in range(0, len(points), step):
            # Which item counts as nearest, at a tie of rounding, is post-processing.
            result[start : start + step] = (half - points[start : start + step] @ self._points.T).argmin(axis=1)
        return result

    def from_counts(self, counts: ArrayLike, *, source: RandomSource | None = None) -> Integers:
        """The histogram of reports, drawn item by item: there is no shorter way without a matrix."""
        held = item_counts(counts, self.space.items)
        if int(held.sum()) > _MOST_ITEMS:
            raise self._too_many()
        reports = self.from_items(np.repeat(np.arange(self.space.items), held), source=source)
        return np.bincount(reports, minlength=self.space.items).astype(np.int64)

    def _too_many(self) -> ParameterError:
        return ParameterError(
            "There are too many items to draw noise for one by one.",
            allowed=f"at most {_MOST_ITEMS:,} items with noise in coordinates",
            fix="randomiser 'exponential', which is drawn from counts",
        )

    def distortions(self) -> Floats:
        """An upper bound: the noise has mean length dimension/alpha0, and the nearest item is at most twice as far."""
        dimension = self._points.shape[1]
        # An angle is at most pi/2 times its chord.
        times = math.pi if self.space.geometry.angular else 2.0
        return np.full(self.space.items, min(1.0, times * dimension / float(self.alpha0_upper)))


def laplace(space: Space, alpha0: Exact) -> LaplaceRandomiser:
    """Laplace noise in the coordinates of a Euclidean or embedding space, followed by the nearest item.

    >>> from barrow.spaces import Euclidean
    >>> laplace(Euclidean([0, 0], [3, 4], unit="km", step=1), 10).kind
    'laplace'
    """
    return LaplaceRandomiser(space, alpha0)
