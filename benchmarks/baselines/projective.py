"""Projective geometry response (Feldman, Nelson, Nguyen and Talwar 2022): as accurate as subset selection, and fast."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.mechanisms.user_level.subsets import checked_items
from barrow.numerics import Exact, float_down
from barrow.promises.definitions import positive
from barrow.randomisers import TOTAL
from benchmarks.baselines.channels import SetChannel
from benchmarks.baselines.edges import Floats, Integers, sum_to_one

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
_MOST_ENTRIES = 2**24


class ProjectiveResponse(SetChannel):
    """Items and reports are points of a projective space over the field of q elements; x's set is its polar plane.

    Each set holds about 1/q of all reports, and any two sets share the same number of them.

    Args:
        items: k, with k times the number of reports at most 2^24.
        epsilon: The privacy parameter of one report.
        field: q, a prime up to 47; None takes the most accurate for evenly spread items.

    >>> channel = ProjectiveResponse(100, 1)
    >>> channel.field, channel.outputs, channel.size
    (3, 121, 40)
    """

    name: ClassVar[str] = "projective geometry response"

    def __init__(self, items: int, epsilon: Exact, *, field: int | None = None) -> None:
        k = checked_items(items)
        if field is None:
            field = best_field(k, float_down(positive(epsilon, "epsilon")))
        if field not in _PRIMES:
            raise ParameterError(f"field is {field!r}.", allowed=f"one of {_PRIMES}", fix="field=None")
        self.field = field
        self.dimension = dimension_of(k, field)
        outputs, size, shared = (points(self.dimension - j, field) for j in range(3))
        if k * outputs > _MOST_ENTRIES:
            raise ParameterError(
                f"{k:,} items have {outputs:,} reports: too many pairs for a table.",
                allowed=f"at most {_MOST_ENTRIES:,} pairs",
                fix="Hadamard response or unary encoding, which need no table",
            )
        super().__init__(k, epsilon, outputs=outputs, size=size, apart=size - shared)

    def at(self, epsilon: Exact) -> ProjectiveResponse:
        """Over the same field."""
        return ProjectiveResponse(self.items, epsilon, field=self.field)

    @property
    def _table(self) -> NDArray[np.bool_]:
        return _incidence(self.items, self.field, self.dimension)

    def member(self, ids: Integers, ranks: Integers) -> Integers:
        """From a table of all sets."""
        return np.asarray(_members(self.items, self.field, self.dimension)[ids, ranks])

    def contains(self, ids: Integers, outputs: Integers) -> NDArray[np.bool_]:
        """Whether the scalar product is 0 in the field."""
        return np.asarray(self._table[ids, outputs])

    @property
    def _levels(self) -> tuple[float, float]:
        """P[report in x's set | another item], and by how much more it is for x itself."""
        near = self.weight / TOTAL
        other = near * (self.size - self.apart) / self.size + (1.0 - near) * self.size / self.outputs
        return other, near * self.apart / self.size

    def contributions(self, outputs: Integers) -> Floats:
        """(1[report in set] - P[so | another item])/(the gap between own and other items)."""
        base, gap = self._levels
        return np.asarray((self._table[:, outputs].T - base) / gap)

    def decode(self, tally: Integers, reports: int) -> Floats:
        """How many reports are in each item's set, centred and stretched."""
        base, gap = self._levels
        return sum_to_one((self._table @ (tally / reports) - base) / gap)


def points(dimension: int, field: int) -> int:
    """The number of points of the projective space of a vector space: (q^t - 1)/(q - 1).

    >>> points(3, 2), points(1, 5), points(0, 5)
    (7, 1, 0)
    """
    return int((field**dimension - 1) // (field - 1))


def dimension_of(items: int, field: int) -> int:
    """The least t, at least 2, with a point for each item.

    >>> dimension_of(100, 3), dimension_of(2, 7)
    (5, 2)
    """
    t = 2
    while points(t, field) < items:
        t += 1
    return t


def best_field(items: int, epsilon: float) -> int:
    """The prime q whose variance on evenly spread items is least, among those whose table fits.

    >>> [best_field(100, e) for e in (0.1, 1.25, 2.0, 3.0)]
    [2, 5, 11, 19]
    """
    gain = math.expm1(min(epsilon, 28.0))

    def variance(q: int) -> float:
        t = dimension_of(items, q)
        outputs, size, shared = (points(t - j, q) for j in range(3))
        if outputs * items > _MOST_ENTRIES:
            return math.inf
        total = size * gain + outputs
        other = (shared * gain + size) / total
        return other * (1.0 - other) / ((size - shared) * gain / total) ** 2

    return min(_PRIMES, key=variance)


@lru_cache(maxsize=8)
def _coordinates(field: int, dimension: int) -> Integers:
    """One vector for each point: those whose first nonzero entry is 1."""
    rows = [
        (0,) * lead + (1,) + rest
        for lead in range(dimension)
        for rest in product(range(field), repeat=dimension - lead - 1)
    ]
    return np.array(rows, dtype=np.int64)


@lru_cache(maxsize=8)
def _incidence(items: int, field: int, dimension: int) -> NDArray[np.bool_]:
    """Items x reports: whether the report lies in the item's polar plane."""
    every = _coordinates(field, dimension)
    return np.asarray(every[:items] @ every.T % field == 0)


@lru_cache(maxsize=8)
def _members(items: int, field: int, dimension: int) -> Integers:
    """Items x ranks: the reports of each set."""
    table = _incidence(items, field, dimension)
    return np.asarray(np.nonzero(table)[1].reshape(items, points(dimension - 1, field)).astype(np.int64))
