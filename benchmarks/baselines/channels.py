"""Local randomisers for histograms: randomised response, Hadamard response, projective geometry response.

Each item x has a set C_x of reports. A report is uniform on C_x with a rational probability w, and uniform on
all reports otherwise; so a report in C_x is 1 + wK/(s(1-w)) times as likely as any other (K reports, s of them in C_x),
a rational number that is compared exactly with e^epsilon (benchmarks/baselines/PROOFS.md).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import ParameterError
from barrow.mechanisms.user_level.subsets import checked_items, set_weight
from barrow.noise import RandomSource, exact_binomial, uniform_below
from barrow.noise.source import checked_source
from barrow.numerics import Exact
from barrow.randomisers import TOTAL
from barrow.randomisers.randomiser import item_counts
from benchmarks.baselines.edges import Edges, Floats, Integers, sum_to_one
from benchmarks.baselines.uniform import uniform_multinomials

_CELLS_PER_ITEM = 4
"""Drawing one report costs about as much as splitting a count between this many cells."""
_CHUNK = 2**20
_MOST_ENTRIES = 2**24
"""Pairs of items and reports: beyond this, errors are not predicted by going through all of them."""


class LocalChannel(ABC):
    """A locally private randomiser of one of k items, and the unbiased estimate of a histogram from its reports.

    Attributes:
        items: k, the number of items.
        ratio: The exact likelihood ratio between two items, at most e^epsilon.
        active: The exact probability that a report tells two given items apart (the largest over pairs).
    """

    name: ClassVar[str]
    items: int
    ratio: Fraction
    active: Fraction

    @abstractmethod
    def tally(self, counts: ArrayLike, *, source: RandomSource | None = None) -> Integers:
        """What is counted among the reports on ``counts[x]`` items of each kind x, with exactly the right law."""

    @abstractmethod
    def decode(self, tally: Integers, reports: int) -> Floats:
        """The unbiased estimate of the histogram, with the sum 1."""

    @abstractmethod
    def noise_variances(self, edges: Edges, reference: Floats) -> Floats:
        """Of one report on an item drawn from ``reference``: the mean variance, given the item, on each run."""

    @abstractmethod
    def at(self, epsilon: Exact) -> LocalChannel:
        """A channel of the same shape at another epsilon."""

    @abstractmethod
    def active_upper(self, epsilon: float) -> float:
        """An upper bound on ``active`` for channels of the same shape at ``epsilon`` or less."""

    @property
    def epsilon(self) -> float:
        """Ln of the ratio, for reading."""
        return math.log1p(float(self.ratio - 1))

    def _counts(self, counts: ArrayLike) -> Integers:
        return item_counts(counts, self.items)


class SetChannel(LocalChannel):
    """A channel with a set of reports for each item; subclasses say which.

    Args:
        items: k.
        epsilon: The privacy parameter of one report.
        outputs: K, the number of reports.
        size: s, how many of them are in each item's set.
        apart: The largest number of reports in one item's set but not in another's.
    """

    def __init__(self, items: int, epsilon: Exact, *, outputs: int, size: int, apart: int) -> None:
        self.items, self.outputs, self.size, self.apart = items, outputs, size, apart
        self.weight = set_weight(epsilon, Fraction(size, outputs))
        near = Fraction(self.weight, TOTAL)
        self.ratio = 1 + near * outputs / (size * (1 - near))
        self.active = apart * (self.ratio + 1) / (size * self.ratio + outputs - size)

    def active_upper(self, epsilon: float) -> float:
        """The largest of (R + 1)/(s R + K - s) times ``apart`` over ratios R from 1 to e^epsilon: it is monotone."""
        ends = (1.0, math.exp(min(epsilon, 100.0)))
        result = max(self.apart * (r + 1.0) / (self.size * r + self.outputs - self.size) for r in ends)
        return min(1.0, result * (1.0 + 2.0**-40))

    @abstractmethod
    def member(self, ids: Integers, ranks: Integers) -> Integers:
        """The report of rank 0 .. s-1 in the set of each item."""

    @abstractmethod
    def contains(self, ids: Integers, outputs: Integers) -> NDArray[np.bool_]:
        """Whether reports are in the sets of items."""

    @abstractmethod
    def contributions(self, outputs: Integers) -> Floats:
        """What each report adds to the estimate of each item: reports x items."""

    def probability(self, item: int, output: int) -> Fraction:
        """The exact probability of a report on an item.

        >>> channel = RandomisedResponse(2, 1)
        >>> channel.probability(0, 0) + channel.probability(0, 1)
        Fraction(1, 1)
        """
        blind = Fraction(TOTAL - self.weight, TOTAL * self.outputs)
        inside = bool(self.contains(np.array([item]), np.array([output]))[0])
        return blind + Fraction(self.weight, TOTAL * self.size) * inside

    def reports(self, ids: ArrayLike, *, source: RandomSource | None = None) -> Integers:
        """One report for each item, in their order: what a client sends.

        >>> RandomisedResponse(3, 20).reports([2, 2, 0]).tolist()
        [2, 2, 0]
        """
        items = np.asarray(ids, dtype=np.int64).ravel()
        origin = checked_source(source)
        near = (origin.words(len(items)) >> np.uint64(2)).astype(np.int64) < self.weight
        result = uniform_below(np.where(near, self.size, self.outputs), source=origin)
        if near.any():
            result[near] = self.member(items[near], result[near])
        return result

    def tally(self, counts: ArrayLike, *, source: RandomSource | None = None) -> Integers:
        """The histogram of reports, drawn from counts: all blind ones at once, the others by cell or one by one."""
        held = self._counts(counts)
        origin = checked_source(source)
        near = exact_binomial(held, self.weight, TOTAL, source=origin)
        blind = int(held.sum() - near.sum())
        numbers: Integers = uniform_multinomials([blind], self.outputs, source=origin)[0]
        some = np.flatnonzero(near)
        single = near[some] < self.size * _CELLS_PER_ITEM
        few, many = some[single], some[~single]
        step = max(1, _CHUNK // self.size)
        for start in range(0, len(many), step):
            rows = many[start : start + step]
            cells = self.member(np.repeat(rows, self.size), np.tile(np.arange(self.size), len(rows)))
            spread = uniform_multinomials(near[rows], self.size, source=origin)
            np.add.at(numbers, cells, spread.ravel())
        ids = np.repeat(few, near[few])
        for start in range(0, len(ids), _CHUNK):
            part = ids[start : start + _CHUNK]
            ranks = uniform_below(np.full(len(part), self.size), source=origin)
            numbers += np.bincount(self.member(part, ranks), minlength=self.outputs)
        return numbers

    def noise_variances(self, edges: Edges, reference: Floats) -> Floats:
        """Over all reports y: sum of P(y) times the squared contribution, less the mass of the run."""
        if self.outputs * self.items > _MOST_ENTRIES:
            raise _too_large(self)
        near = self.weight / TOTAL
        everyone = np.arange(self.items)
        result = np.zeros(len(edges.lengths))
        step = max(1, _CHUNK // self.items)
        for start in range(0, self.outputs, step):
            outputs = np.arange(start, min(start + step, self.outputs))
            inside = self.contains(everyone[None, :], outputs[:, None])
            chance = near / self.size * (inside @ reference) + (1.0 - near) / self.outputs
            result += chance @ edges.masses(sum_to_one(self.contributions(outputs))) ** 2
        return np.asarray(result - edges.masses(reference))


class RandomisedResponse(SetChannel):
    """k-ary randomised response: the item itself, or any.

    >>> channel = RandomisedResponse(4, 1)
    >>> round(float(channel.probability(0, 0)), 6)  # e/(e + 3)
    0.475367
    """

    name: ClassVar[str] = "randomised response"

    def __init__(self, items: int, epsilon: Exact) -> None:
        k = checked_items(items)
        super().__init__(k, epsilon, outputs=k, size=1, apart=1)

    def at(self, epsilon: Exact) -> RandomisedResponse:
        """On as many items."""
        return RandomisedResponse(self.items, epsilon)

    def member(self, ids: Integers, ranks: Integers) -> Integers:
        """The item itself."""
        return ids

    def contains(self, ids: Integers, outputs: Integers) -> NDArray[np.bool_]:
        """Whether the report is the item."""
        return np.asarray(ids == outputs)

    def contributions(self, outputs: Integers) -> Floats:
        """(1[report = item] - (1-w)/k)/w."""
        near = self.weight / TOTAL
        hit = outputs[:, None] == np.arange(self.items)[None, :]
        return np.asarray((hit - (1.0 - near) / self.items) / near)

    def noise_variances(self, edges: Edges, reference: Floats) -> Floats:
        """Whether a report is in the run is one coin, of known bias given the item."""
        near = self.weight / TOTAL
        mass, even = edges.masses(reference), edges.widths / self.items
        chance = near * mass + (1.0 - near) * even
        # E (coin - (1-w) t/k)^2/w^2, less the mass of the run.
        base = (1.0 - near) * even
        return np.asarray((chance * (1.0 - 2.0 * base) + base**2) / near**2 - mass)

    def decode(self, tally: Integers, reports: int) -> Floats:
        """The shares of reports, less the blind ones, stretched by 1/w."""
        near = self.weight / TOTAL
        return sum_to_one((tally / reports - (1.0 - near) / self.items) / near)


def _too_large(channel: SetChannel) -> ParameterError:
    return ParameterError(
        f"{channel.name} on {channel.items:,} items has too many pairs of items and reports to predict its error.",
        allowed=f"at most {_MOST_ENTRIES:,} pairs",
        fix="unary encoding, whose error has a closed form",
    )
