"""Functions of a person's whole data that are Lipschitz in the earth mover's distance, summed exactly over people.

A person's value is an exact fraction, and is never rounded: a rounding error would not shrink with the distance between
two versions of a person (docs/proofs/people.md). What is rounded, to a public grid and with its error in the constant,
are the distances and shares of single items.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from barrow.numerics import Exact, float_down, float_up
from barrow.numerics.exact import sum_of_fractions
from barrow.queries.lipschitz import Constants
from barrow.queries.profiles import Profiles, Whole
from barrow.queries.quantised import norm_order
from barrow.queries.query import Query
from barrow.spaces.space import Floats

UP = 1.0 + 2.0**-40


class PersonFunction(ABC):
    """phi: from a person's items to one or several numbers of 0 or more."""

    @property
    def outputs(self) -> int:
        """How many numbers."""
        return 1

    @property
    @abstractmethod
    def unit(self) -> Fraction:
        """What the fractions of :meth:`ratios` are multiplied by."""

    @property
    @abstractmethod
    def high(self) -> Fraction:
        """The most that each number can be; the least is 0."""

    @property
    @abstractmethod
    def rounding_upper(self) -> float:
        """How far it may be from the function in words."""

    @abstractmethod
    def lipschitz_upper(self, p: float) -> float:
        """L in the p-norm, per normalised EMD."""

    @abstractmethod
    def ratios(self, people: Profiles) -> tuple[list[Whole], Whole]:
        """For each number everybody's numerator, and everybody's denominator: exact integers."""

    def range_upper(self, p: float) -> float:
        """B in the p-norm."""
        return float_up(self.high) * (1.0 if math.isinf(p) else float(self.outputs) ** (1.0 / p)) * UP

    def exact_sums(self, people: Profiles) -> list[Sums]:
        """The sum over people of each number, by denominators."""
        if not len(people):
            return [Sums((), (), self.unit)] * self.outputs
        numerators, below = self.ratios(people)
        return [Sums.of(above, below, self.unit) for above in numerators]

    def exactly(self, items: Sequence[int]) -> list[Fraction]:
        """The numbers of one person who holds ``items``, exact."""
        return [sums.exact() for sums in self.exact_sums(Profiles.of_users([list(items)]))]

    def at_items(self, items: int) -> Floats:
        """About what it is for whoever holds one item alone, for pictures: items by numbers."""
        numerators, below = self.ratios(Profiles.one_each(items))
        columns = [above.astype(np.float64) / below.astype(np.float64) * float(self.unit) for above in numerators]
        return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False, repr=False)
class Sums:
    """A sum of fractions with few denominators (private).

    >>> Sums.of(np.array([1, 2, 5]), np.array([3, 3, 2]), Fraction(1, 2)).exact()
    Fraction(7, 4)
    """

    above: tuple[int, ...]
    below: tuple[int, ...]
    unit: Fraction

    @classmethod
    def of(cls, above: Whole, below: Whole, unit: Fraction) -> Sums:
        """From everybody's fraction."""
        denominators, where = np.unique(below, return_inverse=True)
        totals = np.zeros(len(denominators), dtype=object)
        np.add.at(totals, where, above.astype(object))
        return cls(tuple(map(int, totals)), tuple(map(int, denominators)), unit)

    @cached_property
    def _sum(self) -> Fraction:
        return sum_of_fractions(zip(self.above, self.below, strict=True))

    def exact(self) -> Fraction:
        """The sum."""
        return self._sum * self.unit

    def nearly(self) -> float:
        """The sum to a relative 2^-48: all terms are 0 or more, and each is rounded a few times."""
        return math.fsum(a / m for a, m in zip(self.above, self.below, strict=True)) * float(self.unit)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PersonQuery(Query):
    """The mean over people of a function of each person's whole data.

    Args:
        phi: The function.

    Where people without records have an item of their own, they count in the middle of the range, and the constant
    covers how far from it anybody can be.

    >>> from barrow.queries import person
    >>> from barrow.spaces import Line
    >>> person(Line(0, 4, step=1, unit="km", whole=True), function="spread").phi.exactly([0, 4])
    [Fraction(2, 1)]
    """

    phi: PersonFunction

    @property
    def of_person(self) -> bool:
        """It is."""
        return True

    @property
    def rounding_upper(self) -> float:
        """How far phi may be from the function in words, in units."""
        return self.phi.rounding_upper

    @property
    def snapping_upper(self) -> float:
        """How far snapping may move the answer: all of a person's items by rho."""
        return self.phi.lipschitz_upper(math.inf) * self.space.snapping_upper

    @property
    def snapping_counted(self) -> bool:
        """Shares with ramps are about snapped records, and say so: they are too steep for a useful bound."""
        return bool(self.unit)

    def constants(self, norms: Iterable[Exact]) -> list[Constants]:
        """L and B in each norm (docs/proofs/people.md)."""
        return [self._constants(norm_order(p)) for p in norms]

    def _constants(self, p: float) -> Constants:
        bound, span = self.phi.lipschitz_upper(p), self.phi.range_upper(p)
        away = self.space.no_records_distance
        if away is not None:
            bound = max(bound, span / 2.0 / float_down(away) * UP)
        return Constants(bound, min(span, bound), "closed form", None)

    @cached_property
    def of_nobody(self) -> list[Fraction]:
        """What people without records count as: the middle, or what the default item says."""
        if self.space.no_records_distance is not None:
            return [self.phi.high / 2] * self.phi.outputs
        return self.phi.exactly([self.space.default_item])

    def exact_means(self, people: Profiles, users: int) -> list[tuple[float, Sums, Fraction]]:
        """For each output: the mean over ``users`` people about, the sum over those found, and that over the others."""
        missing = users - len(people)
        pairs = zip(self.phi.exact_sums(people), self.of_nobody, strict=True)
        return [((sums.nearly() + float(missing * each)) / users, sums, missing * each) for sums, each in pairs]
