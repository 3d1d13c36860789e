"""What may be asked of a person's whole data: shares beyond a threshold, the radius, the spread, a distance.

Constants are those of docs/proofs/people.md, of the tables really used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from barrow.numerics import float_up
from barrow.queries.person_query import UP, PersonFunction
from barrow.queries.profiles import Profiles, Whole
from barrow.queries.query import Query
from barrow.spaces import Space
from barrow.spaces.space import Ids

_PAIRS = 2**22
"""How many pairs of a person's items are worked on at once."""
_CELLS = 2**22
_BITS = 30
"""Bits of a rounded distance or length, as a share of the diameter."""
_SAFE = 62


@dataclass(frozen=True, eq=False)
class Ramps(PersonFunction):
    """Of the share of a person's items in a region: 0 up to each start, 1 from the start plus ``width`` on.

    Ramps that do not overlap have together the constant of one: the share moves one of them at a time.

    Attributes:
        inner: The share of one item in the region.
        starts: Where the ramps begin, ascending, ``width`` or more apart.
        width: How wide each is.
    """

    inner: Query
    starts: tuple[Fraction, ...]
    width: Fraction

    @cached_property
    def _counted(self) -> tuple[Ids, int]:
        """The share of each item in whole steps, and how many steps are all of it."""
        values, full = self.inner.table.integers[:, 0], int(1 / self.inner.step)
        common = math.gcd(full, *map(int, np.unique(values)))
        return values // common, full // common

    @cached_property
    def _below(self) -> int:
        return math.lcm(self.width.denominator, *(start.denominator for start in self.starts))

    @property
    def outputs(self) -> int:
        """One for each ramp."""
        return len(self.starts)

    @property
    def unit(self) -> Fraction:
        """A step of the region's share, times the slope."""
        return 1 / (self._counted[1] * self.width * self._below)

    @property
    def high(self) -> Fraction:
        """All."""
        return Fraction(1)

    @property
    def rounding_upper(self) -> float:
        """That of the share, times the slope."""
        return self.inner.rounding_upper * float_up(1 / self.width) * UP

    def lipschitz_upper(self, p: float) -> float:
        """1/(s (b - a)): that of the share in the region, times the slope of a ramp."""
        return self.inner.lipschitz_upper(1) * float_up(1 / self.width) * UP

    def ratios(self, people: Profiles) -> tuple[list[Whole], Whole]:
        """(share - a)/(b - a), cut to [0, 1], over the size."""
        values, full = self._counted
        inside, sizes = people.sums(values).astype(object), people.whole
        top = int(self.width * self._below) * full * sizes
        results = []
        for start in self.starts:
            above = inside * self._below - int(start * self._below) * full * sizes
            results.append(np.minimum(np.maximum(above, 0), top))
        return results, people.sizes


@dataclass(frozen=True, eq=False)
class Radius(PersonFunction):
    """The mean distance of a person's items from the best of some public centres.

    Attributes:
        inner: The distance of one item from each centre.
    """

    inner: Query

    @property
    def unit(self) -> Fraction:
        """The step of the distances."""
        return self.inner.step

    @cached_property
    def high(self) -> Fraction:
        """How far items are at most from the centre for which that is least."""
        return int(self.inner.table.integers.max(axis=0).min()) * self.inner.step

    @property
    def rounding_upper(self) -> float:
        """That of a distance."""
        return self.inner.rounding_upper

    def lipschitz_upper(self, p: float) -> float:
        """A minimum moves by no more than what moves most."""
        return self.inner.lipschitz_upper("inf") * UP

    def ratios(self, people: Profiles) -> tuple[list[Whole], Whole]:
        """The least of the sums of distances, over the size."""
        columns = self.inner.table.integers.T
        best = people.sums(columns[0])
        for column in columns[1:]:
            best = np.minimum(best, people.sums(column))
        return [best], people.sizes


@dataclass(frozen=True, eq=False)
class OwnSpread(PersonFunction):
    """The mean distance of two of a person's items, drawn one after the other with replacement."""

    space: Space

    @cached_property
    def _off(self) -> Fraction:
        """How far a rounded distance may be from the distance, as a share of the diameter."""
        return Fraction(1, 2 ** (_BITS + 1)) + Fraction(4.0 * self.space.distance_error)

    @property
    def unit(self) -> Fraction:
        """The step of the distances."""
        return Fraction(self.space.diameter) / Fraction(2**_BITS)

    @property
    def high(self) -> Fraction:
        """Half of the diameter on a line; elsewhere all but the chance that both are the same of all items."""
        most = Fraction(1, 2) if self.space.geometry.on_line else 1 - Fraction(1, self.space.items)
        return (most + self._off) * Fraction(self.space.diameter)

    @property
    def rounding_upper(self) -> float:
        """That of a distance."""
        return float_up(self._off * Fraction(self.space.diameter))

    def lipschitz_upper(self, p: float) -> float:
        """Twice the diameter: both items are coupled; rounding a distance adds to it as to any table."""
        added = 2.0 * float_up(self._off) / self.space.least_distance_lower
        return 2.0 * self.space.diameter * (1.0 + added) * UP

    def ratios(self, people: Profiles) -> tuple[list[Whole], Whole]:
        """The sum of distances over all pairs, over the square of the size."""
        rows = len(people.items)
        ends = np.append(people.starts[1:], rows)
        lengths = ends - people.starts
        who = np.repeat(np.arange(len(people)), lengths)
        after = ends[who] - np.arange(rows) - 1  # how many rows of the same person follow
        wide = 2 * int(people.counts.max()).bit_length() + _BITS + 1 + max(_PAIRS, rows).bit_length() + 1
        result = np.zeros(len(people), dtype=object)
        for start, end in _runs(after, _PAIRS):
            first = np.repeat(np.arange(start, end), after[start:end])
            turn = np.arange(len(first)) - np.repeat(np.cumsum(after[start:end]) - after[start:end], after[start:end])
            second = first + 1 + turn
            far = self._steps(people.items[first], people.items[second])
            if wide > _SAFE:
                each = far.astype(object) * people.counts[first].astype(object) * people.counts[second].astype(object)
            else:
                each = far * people.counts[first] * people.counts[second]
            if len(each):
                holders, begins = np.unique(who[first], return_index=True)
                result[holders] += np.add.reduceat(each, begins).astype(object)
        return [2 * result], people.whole * people.whole

    def _steps(self, a: Ids, b: Ids) -> Ids:
        """The distance of two items in steps: the same for (a, b) and (b, a)."""
        far = self.space.distance(np.minimum(a, b), np.maximum(a, b))
        return np.rint(far * 2.0**_BITS).astype(np.int64)


@dataclass(frozen=True, eq=False)
class FromReference(PersonFunction):
    """The earth mover's distance between a person's items and a public reference, along the edges of a tree.

    Lengths of edges are rounded down, so that no distance grows and the constant stays that of the space.

    Attributes:
        space: A tree, or a line.
        reference: How often each item is in the reference.
    """

    space: Space
    reference: Ids

    @cached_property
    def _edges(self) -> tuple[Ids, Ids, Ids]:
        """The first item below each edge, the one after the last, and the length in steps."""
        tree, gaps = self.space.geometry.tree, self.space.geometry.gaps
        if tree is not None:
            exactly = tree.exact_lengths
            starts, ends = tree.starts, tree.ends
        else:
            exactly = [Fraction(float(gap)) for gap in ([] if gaps is None else gaps)]
            starts, ends = np.zeros(len(exactly), dtype=np.int64), np.arange(1, len(exactly) + 1, dtype=np.int64)
        return starts, ends, np.array([math.floor(length * 2**_BITS) for length in exactly], dtype=np.int64)

    @cached_property
    def _below(self) -> Ids:
        """How much of the reference is below each edge."""
        starts, ends, _ = self._edges
        running = np.append(0, np.cumsum(self.reference))
        return np.asarray(running[ends] - running[starts])

    @property
    def _held(self) -> int:
        return int(self.reference.sum())

    @property
    def unit(self) -> Fraction:
        """The step of lengths, by the size of the reference."""
        return Fraction(self.space.diameter) / Fraction(2**_BITS * self._held)

    @cached_property
    def high(self) -> Fraction:
        """That of one item: the distance is convex, so that nobody's is larger than the largest of these."""
        (result,), _ = self.ratios(Profiles.one_each(self.space.items))
        return int(result.max()) * self.unit

    @property
    def rounding_upper(self) -> float:
        """What rounding all lengths down takes away at most."""
        return float_up(Fraction(len(self._edges[0]) * self.space.diameter) / 2**_BITS)

    def lipschitz_upper(self, p: float) -> float:
        """The diameter, by the triangle inequality."""
        return self.space.diameter * (1.0 + 4.0 * self.space.distance_error) * UP

    def ratios(self, people: Profiles) -> tuple[list[Whole], Whole]:
        """The sum over edges of length times how much more is below, over the size."""
        step = max(1, _CELLS // (self.space.items + len(self._below)))
        parts = [
            self._of(people.dense(slice(at, min(at + step, len(people))), self.space.items))
            for at in range(0, len(people), step)
        ]
        return [np.concatenate(parts)], people.sizes

    def _of(self, counts: Ids) -> Whole:
        starts, ends, lengths = self._edges
        running = np.zeros((len(counts), counts.shape[1] + 1), dtype=np.int64)
        np.cumsum(counts, axis=1, out=running[:, 1:])
        sizes, below = running[:, -1], running[:, ends] - running[:, starts]
        wide = int(sizes.max()).bit_length() + self._held.bit_length() + _BITS + 1 + len(ends).bit_length()
        if wide <= _SAFE:
            return np.asarray(np.abs(below * self._held - np.outer(sizes, self._below)) @ lengths)
        flow = np.abs(below.astype(object) * self._held - np.outer(sizes.astype(object), self._below.astype(object)))
        return np.asarray((flow * lengths.astype(object)).sum(axis=1))


def _runs(work: Ids, most: int) -> list[tuple[int, int]]:
    """Runs of rows whose work adds up to about ``most``, and one row more at most."""
    running = np.cumsum(work)
    runs, start = [], 0
    while start < len(work):
        done = int(running[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(running, done + most, side="right")))
        runs.append((start, end))
        start = end
    return runs
