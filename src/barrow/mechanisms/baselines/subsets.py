"""Subset selection (Ye and Barg 2017), the most accurate symmetric channel, and optimised unary encoding (2017)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import ParameterError
from barrow.mechanisms.baselines.channels import LocalChannel, checked_items, set_weight
from barrow.mechanisms.baselines.edges import Edges, Floats, Integers, sum_to_one
from barrow.noise import Source, exact_binomial, uniform_below
from barrow.noise.source import checked_source
from barrow.numerics import Exact, float_down, whole
from barrow.privacy.definitions import positive
from barrow.randomisers import TOTAL, exceeds_exp
from barrow.randomisers.base import DEEPEST

_CHUNK = 2**22


class SubsetSelection(LocalChannel):
    """A report is a set of d items; sets that hold the item are e^epsilon times as likely as others.

    With probability w a set of d with the item in it, evenly; otherwise any set of d, evenly.

    Args:
        items: k.
        epsilon: The privacy parameter of one report.
        subset: d, from 1 to k-1; None takes the most accurate, near k/(1 + e^epsilon).

    >>> channel = SubsetSelection(100, 1)
    >>> channel.subset, round(channel.epsilon, 9)
    (27, 1.0)
    """

    name: ClassVar[str] = "subset selection"

    def __init__(self, items: int, epsilon: Exact, *, subset: int | None = None) -> None:
        k = checked_items(items)
        d = best_subset(k, float_down(positive(epsilon, "epsilon"))) if subset is None else subset
        d = whole(d, "subset", most=k - 1, fix="subset=None")
        self.items, self.subset = k, d
        self.weight = set_weight(epsilon, Fraction(d, k))
        near = Fraction(self.weight, TOTAL)
        self.ratio = 1 + near * k / (d * (1 - near))
        # Of all sets, d/k hold x, and d (k-d)/(k (k-1)) hold x but not x'.
        apart = Fraction(d * (k - d), k * (k - 1))
        self.active = apart * (self.ratio + 1) / (Fraction(d, k) * (self.ratio - 1) + 1)

    def at(self, epsilon: Exact) -> SubsetSelection:
        """With sets of the same size."""
        return SubsetSelection(self.items, epsilon, subset=self.subset)

    def active_upper(self, epsilon: float) -> float:
        """As for sets of reports: monotone in the ratio, so one of the ends."""
        k, d = float(self.items), float(self.subset)
        ends = (1.0, math.exp(min(epsilon, 100.0)))
        found = max((k - d) / (k - 1.0) * (r + 1.0) / (r - 1.0 + k / d) for r in ends)
        return min(1.0, found * (1.0 + 2.0**-40))

    def sets(self, ids: ArrayLike, *, source: Source | None = None) -> NDArray[np.bool_]:
        """One report for each item: rows of which items are in the set.

        >>> SubsetSelection(5, 1, subset=2).sets([0, 4]).sum(axis=1).tolist()
        [2, 2]
        """
        items = np.asarray(ids, dtype=np.int64).ravel()
        origin = checked_source(source)
        near = (origin.words(len(items)) >> np.uint64(2)).astype(np.int64) < self.weight
        found = np.zeros((len(items), self.items), dtype=bool)
        found[~near] = even_subsets(int((~near).sum()), self.items, self.subset, origin)
        others = even_subsets(int(near.sum()), self.items - 1, self.subset - 1, origin)
        rows, mine = np.flatnonzero(near), items[near]
        # The other items in their order, with the item itself put back in its place.
        places = np.arange(self.items - 1)[None, :] + (np.arange(self.items - 1)[None, :] >= mine[:, None])
        found[rows[:, None], places] = others
        found[rows, mine] = True
        return found

    def tally(self, counts: ArrayLike, *, source: Source | None = None) -> Integers:
        """How many reports hold each item, from reports drawn one by one."""
        ids = np.repeat(np.arange(self.items), self._counts(counts))
        origin = checked_source(source)
        found = np.zeros(self.items, dtype=np.int64)
        step = max(1, _CHUNK // self.items)
        for start in range(0, len(ids), step):
            found += self.sets(ids[start : start + step], source=origin).sum(axis=0)
        return found

    @property
    def _levels(self) -> tuple[float, float]:
        """P[x in set | another item], and by how much more it is for x itself."""
        near, k, d = self.weight / TOTAL, self.items, self.subset
        other = near * (d - 1) / (k - 1) + (1.0 - near) * d / k
        return other, near * (k - d) / (k - 1)

    def decode(self, tally: Integers, reports: int) -> Floats:
        """Shares of the reports that hold each item, centred and stretched; they sum to 1 by themselves."""
        base, gap = self._levels
        return np.asarray((tally / reports - base) / gap)

    def noise_variances(self, edges: Edges, reference: Floats) -> Floats:
        """From the hypergeometric law of how many items of a run are in a set."""
        near, k, d = self.weight / TOTAL, float(self.items), float(self.subset)
        t, mass = edges.widths.astype(np.float64), edges.masses(reference)
        base, gap = self._levels

        def second(population: float, marked: Floats, drawn: float, shift: float) -> Floats:
            """E (shift + H - t base)^2 for a hypergeometric H."""
            if population <= 0.0 or drawn <= 0.0:
                return np.asarray((shift - t * base) ** 2)
            rate = marked / population
            spread = (population - drawn) / max(population - 1.0, 1.0)
            return np.asarray((shift + drawn * rate - t * base) ** 2 + drawn * rate * (1.0 - rate) * spread)

        inside, outside = second(k - 1.0, t - 1.0, d - 1.0, 1.0), second(k - 1.0, t, d - 1.0, 0.0)
        told = mass * inside + (1.0 - mass) * outside
        return np.asarray((near * told + (1.0 - near) * second(k, t, d, 0.0)) / gap**2 - mass)


class UnaryEncoding(LocalChannel):
    """One bit for each item: the own bit is fair, every other one is 1 with probability q = 1/(1 + e^epsilon).

    >>> channel = UnaryEncoding(100, 1)
    >>> round(channel.epsilon, 9), channel.active
    (1.0, Fraction(1, 2))
    """

    name: ClassVar[str] = "optimised unary encoding"
    active = Fraction(1, 2)

    def __init__(self, items: int, epsilon: Exact) -> None:
        self.items = checked_items(items)
        target = min(positive(epsilon, "epsilon"), Fraction(DEEPEST))
        guess = TOTAL / (1.0 + math.exp(float_down(target)))
        self.weight = math.ceil(Fraction(guess) * (1 + Fraction(1, 2**50)))
        while exceeds_exp(Fraction(TOTAL - self.weight, self.weight), target):
            self.weight += max(1, self.weight >> 48)
        self.ratio = Fraction(TOTAL - self.weight, self.weight)
        if self.ratio <= 1:
            raise ParameterError(
                f"epsilon is {float(target):.3g}, too small for whole weights: the reports would be noise.",
                allowed="1e-12 or more",
                fix="epsilon=1",
            )

    def at(self, epsilon: Exact) -> UnaryEncoding:
        """On as many items."""
        return UnaryEncoding(self.items, epsilon)

    def active_upper(self, epsilon: float) -> float:
        """Always 1/2."""
        return 0.5

    def tally(self, counts: ArrayLike, *, source: Source | None = None) -> Integers:
        """How many reports have each bit set: two binomials for each item, whatever the number of reports."""
        held = self._counts(counts)
        origin = checked_source(source)
        own = exact_binomial(held, 1, 2, source=origin)
        return own + exact_binomial(held.sum() - held, self.weight, TOTAL, source=origin)

    def decode(self, tally: Integers, reports: int) -> Floats:
        """(share of ones - q)/(1/2 - q), moved to the sum 1."""
        q = self.weight / TOTAL
        return sum_to_one((tally / reports - q) / (0.5 - q))

    def noise_variances(self, edges: Edges, reference: Floats) -> Floats:
        """Bits are independent, given the item."""
        q, k = self.weight / TOTAL, float(self.items)
        t, mass = edges.widths / k, edges.masses(reference)
        flat = q * (1.0 - q)
        others = flat * k * (t * (1.0 - t) ** 2 + (1.0 - t) * t**2)
        own = (0.25 - flat) * (mass * (1.0 - t) ** 2 + (1.0 - mass) * t**2)
        return np.asarray((others + own) / (0.5 - q) ** 2)


def best_subset(items: int, epsilon: float) -> int:
    """The size d whose variance on evenly spread items is least.

    >>> best_subset(100, 1.0), best_subset(10, 5.0)
    (27, 1)
    """
    gain, k = math.expm1(min(epsilon, 28.0)), float(items)
    d = np.arange(1.0, items)
    # Over evenly spread items each is in a set with probability d/k; the own one by this much more than another.
    apart = d / k * (k - d) / (k - 1.0) * gain / (d / k * gain + 1.0)
    return int(np.argmin(d / k * (1.0 - d / k) / apart**2)) + 1


def even_subsets(rows: int, items: int, size: int, source: Source) -> NDArray[np.bool_]:
    """For each row an exactly even subset of ``size`` of ``items``: Floyd's algorithm, all rows at once.

    >>> from barrow.noise import system_source
    >>> even_subsets(3, 5, 2, system_source()).sum(axis=1).tolist()
    [2, 2, 2]
    """
    found = np.zeros((rows, items), dtype=bool)
    if rows == 0 or size == 0:
        return found
    if 2 * size > items:
        return ~even_subsets(rows, items, items - size, source)
    each = np.arange(rows)
    for last in range(items - size, items):
        drawn = uniform_below(np.full(rows, last + 1), source=source)
        # A number that is taken already stands for the newest one.
        found[each, np.where(found[each, drawn], last, drawn)] = True
    return found
