"""Subset selection (Ye and Barg 2017): the most accurate symmetric channel for one of k items, in the local model."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import ParameterError
from barrow.noise import RandomSource, rounded_gaussian, uniform_below
from barrow.noise.source import checked_source
from barrow.numerics import Exact, float_down, whole
from barrow.promises.definitions import positive
from barrow.randomisers import TOTAL, exceeds_exp
from barrow.randomisers.randomiser import DEEPEST, item_counts
from barrow.spaces.space import Floats

Integers = NDArray[np.int64]

_CHUNK = 2**22
_MOST_SETS = 2**19
"""Entries of sets that a simulation draws one by one."""


class SubsetSelection:
    """A report is a set of d items; sets that hold the item are e^epsilon times as likely as others.

    Attributes: the likelihood ratio between two items, ``ratio``, is an exact rational, at most e^epsilon.

    With probability w a set of d with the item in it, uniformly; otherwise any set of d, uniformly.

    Args:
        items: k.
        epsilon: The privacy parameter of one report.
        subset: d, from 1 to k-1; None takes the most accurate, near k/(1 + e^epsilon).
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

    @property
    def epsilon(self) -> float:
        """Ln of the ratio, for reading."""
        return math.log1p(float(self.ratio - 1))

    def sets(self, ids: ArrayLike, *, source: RandomSource | None = None) -> NDArray[np.bool_]:
        """One report for each item: rows of which items are in the set."""
        items = np.asarray(ids, dtype=np.int64).ravel()
        origin = checked_source(source)
        near = (origin.words(len(items)) >> np.uint64(2)).astype(np.int64) < self.weight
        result = np.zeros((len(items), self.items), dtype=bool)
        result[~near] = uniform_subsets(int((~near).sum()), self.items, self.subset, origin)
        others = uniform_subsets(int(near.sum()), self.items - 1, self.subset - 1, origin)
        rows, mine = np.flatnonzero(near), items[near]
        # The other items in their order, with the item itself put back in its place.
        places = np.arange(self.items - 1)[None, :] + (np.arange(self.items - 1)[None, :] >= mine[:, None])
        result[rows[:, None], places] = others
        result[rows, mine] = True
        return result

    def tally(self, counts: ArrayLike, *, source: RandomSource | None = None) -> Integers:
        """How many reports hold each item, from reports drawn one by one."""
        ids = np.repeat(np.arange(self.items), item_counts(counts, self.items))
        origin = checked_source(source)
        result = np.zeros(self.items, dtype=np.int64)
        step = max(1, _CHUNK // self.items)
        for start in range(0, len(ids), step):
            result += self.sets(ids[start : start + step], source=origin).sum(axis=0)
        return result

    def simulated_tally(self, counts: ArrayLike, source: RandomSource) -> Floats:
        """A tally for predictions: that of many reports is drawn as normal variables with the same variances."""
        held = item_counts(counts, self.items)
        total = int(held.sum())
        if total * self.subset <= _MOST_SETS or total == 0:
            return self.tally(held, source=source).astype(np.float64)
        base, gap = self._levels
        shares = held / total
        spread = np.sqrt(self.variances(np.ones(self.items), shares) * total * self.items / (self.items - 1.0)) * gap
        noise = spread * rounded_gaussian(np.zeros(self.items), 1, source=source).values
        return np.asarray(total * base + held * gap + noise - noise.mean())

    @property
    def _levels(self) -> tuple[float, float]:
        """P[x in set | another item], and by how much more it is for x itself."""
        near, k, d = self.weight / TOTAL, self.items, self.subset
        other = near * (d - 1) / (k - 1) + (1.0 - near) * d / k
        return other, near * (k - d) / (k - 1)

    def decode(self, tally: Integers | Floats, reports: int) -> Floats:
        """Shares of the reports that hold each item, centred and stretched; they sum to 1 by themselves."""
        base, gap = self._levels
        return np.asarray((tally / reports - base) / gap)

    def variances(self, widths: ArrayLike, masses: ArrayLike) -> Floats:
        """Of one report on a random item: the mean variance, given the item, of the estimate on groups of items.

        From the hypergeometric distribution of how many items of a group are in a set.

        Args:
            widths: How many items are in each group.
            masses: The probability that the item is in it.
        """
        near, k, d = self.weight / TOTAL, float(self.items), float(self.subset)
        t, mass = np.asarray(widths, dtype=np.float64), np.asarray(masses, dtype=np.float64)
        base, gap = self._levels

        def second(population: float, marked: Floats, number: float, shift: float) -> Floats:
            """E (shift + H - t base)^2 for a hypergeometric H."""
            if population <= 0.0 or number <= 0.0:
                return np.asarray((shift - t * base) ** 2)
            rate = marked / population
            spread = (population - number) / max(population - 1.0, 1.0)
            return np.asarray((shift + number * rate - t * base) ** 2 + number * rate * (1.0 - rate) * spread)

        inside, outside = second(k - 1.0, t - 1.0, d - 1.0, 1.0), second(k - 1.0, t, d - 1.0, 0.0)
        told = mass * inside + (1.0 - mass) * outside
        return np.asarray((near * told + (1.0 - near) * second(k, t, d, 0.0)) / gap**2 - mass)


def best_subset(items: int, epsilon: float) -> int:
    """The size d whose variance on uniformly spread items is least."""
    gain, k = math.expm1(min(epsilon, 28.0)), float(items)
    d = np.arange(1.0, items)
    # Over uniformly spread items each is in a set with probability d/k; the own one by this much more than another.
    apart = d / k * (k - d) / (k - 1.0) * gain / (d / k * gain + 1.0)
    return int(np.argmin(d / k * (1.0 - d / k) / apart**2)) + 1


def uniform_subsets(rows: int, items: int, size: int, source: RandomSource) -> NDArray[np.bool_]:
    """For each row an exactly uniform subset of ``size`` of ``items``: Floyd's algorithm, all rows at once."""
    result = np.zeros((rows, items), dtype=bool)
    if rows == 0 or size == 0:
        return result
    if 2 * size > items:
        return ~uniform_subsets(rows, items, items - size, source)
    each = np.arange(rows)
    for last in range(items - size, items):
        sample = uniform_below(np.full(rows, last + 1), source=source)
        # A number that is taken already stands for the newest one.
        result[each, np.where(result[each, sample], last, sample)] = True
    return result


def checked_items(items: int) -> int:
    """``items`` as a whole number of 2 or more."""
    return whole(items, "items", least=2, fix="items=100")


def set_weight(epsilon: Exact, share: Fraction) -> int:
    """The largest known W for which drawing from C_x with probability W/2^62 is epsilon-private, |C_x| = share K."""
    target = min(positive(epsilon, "epsilon"), Fraction(DEEPEST))
    grown = float(share) * math.expm1(float_down(target))
    if grown < 1.0:
        weight = int(TOTAL * Fraction(grown / (1.0 + grown)) * (1 - Fraction(1, 2**50)))
    else:
        weight = TOTAL - int(TOTAL * Fraction(1.0 / (1.0 + grown)) * (1 + Fraction(1, 2**50))) - 1
    for _ in range(8):
        if 0 < weight < TOTAL and not exceeds_exp(1 + Fraction(weight, TOTAL - weight) / share, target):
            return weight
        # Rounding cost more than the margin: give back a little of the smaller of the two weights.
        weight -= max(1, min(weight, TOTAL - weight) >> 46)
    raise ParameterError(
        f"epsilon is {float(target):.3g}, too small for whole weights: the reports would be noise.",
        allowed="1e-12 or more",
        fix="epsilon=1",
    )
