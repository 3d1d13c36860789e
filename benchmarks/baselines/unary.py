"""Optimised unary encoding (2017), and subset selection with what its composition needs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.mechanisms.user_level import subsets
from barrow.mechanisms.user_level.subsets import checked_items
from barrow.noise import RandomSource, exact_binomial
from barrow.noise.source import checked_source
from barrow.numerics import Exact, float_down
from barrow.promises.definitions import positive
from barrow.randomisers import TOTAL, exceeds_exp
from barrow.randomisers.randomiser import DEEPEST
from benchmarks.baselines.channels import LocalChannel
from benchmarks.baselines.edges import Edges, Floats, Integers, sum_to_one


class SubsetSelection(subsets.SubsetSelection, LocalChannel):
    """The package's channel, and how often a report tells two items apart."""

    def __init__(self, items: int, epsilon: Exact, *, subset: int | None = None) -> None:
        super().__init__(items, epsilon, subset=subset)
        k, d = self.items, self.subset
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
        result = max((k - d) / (k - 1.0) * (r + 1.0) / (r - 1.0 + k / d) for r in ends)
        return min(1.0, result * (1.0 + 2.0**-40))

    def noise_variances(self, edges: Edges, reference: Floats) -> Floats:
        """On each run."""
        return self.variances(edges.widths, edges.masses(reference))


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

    def tally(self, counts: ArrayLike, *, source: RandomSource | None = None) -> Integers:
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
