"""One way to measure the earth mover's distance on a space of any size, for predictions.

Closed forms and small spaces are exact. Elsewhere mass moves along paths between near items (:func:`near_pairs`), at
most 3 % too long on maps; spaces of more items than that is quick for are measured on a coarser grid of the same
space, where errors are several cells wide anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from barrow.spaces import Space
from barrow.spaces.augmented import base_space
from barrow.spaces.grids import coarser
from barrow.spaces.space import Floats, Ids
from barrow.transport.emd import kr_norm, pot
from barrow.transport.graph_flow import emd_flow_upper

MOST_MEASURED = 12_000
"""Spaces of more items are measured on a coarser grid, where they have one."""
_EXACT_ITEMS, _EXACT_ON_GRIDS, _EXACT_ITEMS_WITHOUT_POT = 1600, 400, 150


@dataclass(frozen=True, eq=False)
class Measure:
    """How distances of mass on a space are measured. See :func:`measure_of`.

    Attributes:
        space: The space.
        grid: What it is measured on: the space itself, or a coarser grid.
        home: To which item of ``grid`` each item belongs; None where it is the space itself.
        method: ``"exact"``, ``"near items"`` or ``"coarser grid"``.

    >>> from barrow.spaces import Line
    >>> measure_of(Line(0, 4, step=1, cells=True)).distance(np.array([1.0, 0.0, -1.0, 0.0]))
    0.5
    """

    space: Space
    grid: Space
    home: Ids | None
    method: str

    def distance(self, difference: Floats) -> float:
        """The EMD norm, normalised, of a difference of mass 0."""
        left = np.asarray(difference, dtype=np.float64)
        if self.home is not None:
            left = np.asarray(np.bincount(self.home, weights=left, minlength=self.grid.items), dtype=np.float64)
        left = left - left.mean()
        if not left.any():
            return 0.0
        if _exact(self.grid):
            return float(kr_norm(self.grid, left))
        return emd_flow_upper(self.grid, left, np.zeros(len(left)))


@lru_cache(maxsize=32)
def measure_of(space: Space, most: int = MOST_MEASURED) -> Measure:
    """The measure of ``space``, on at most about ``most`` items.

    >>> from barrow.spaces import Euclidean, Line
    >>> measure_of(Line(0, 4, step=1)).method, measure_of(Euclidean([0, 0], [1, 1], step=1/200)).method
    ('exact', 'coarser grid')
    """
    if _exact(space):
        return Measure(space, space, None, "exact")
    if space.items > most:
        result = coarser(space, most)
        if result is not None:
            return Measure(space, *result, "coarser grid")
    return Measure(space, space, None, "near items")


def _exact(space: Space) -> bool:
    """Whether it has a closed form that is quick, or is small enough for all pairs."""
    if space.geometry.has_closed_form:
        return space.geometry.has_sums or base_space(space).items <= MOST_MEASURED  # items added to it take no time
    if pot() is None:
        return space.items <= _EXACT_ITEMS_WITHOUT_POT
    known = space.records_space.geometry
    many = known.parts or (known.has_map and known.gaps is None)  # where paths are as good, and quicker
    return space.items <= (_EXACT_ON_GRIDS if many else _EXACT_ITEMS)
