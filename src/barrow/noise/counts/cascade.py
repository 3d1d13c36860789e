"""Items that fall uniformly onto the leaves below a node of a tree, drawn as counts: exact, in a few rounds.

In a round each inner node draws for each child an independent Poisson count with a mean in proportion to the child's
leaves. Given their sum these are multinomial, so if the node holds at least that many items it may hand them down, and
keeps the rest for the next round; the last few fall one by one (docs/proofs/exact-counts.md, Section 7).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import ParameterError
from barrow.noise.counts.binomial_rejection import LEAST, draw
from barrow.noise.counts.chances import Chances
from barrow.noise.counts.uniform_int import uniform_below, uniform_in_spans
from barrow.noise.source import RandomSource

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_LEAST = int(LEAST) + 1
"""A round gives each child at least this mean."""
_MARGIN = 3.0
"""Standard deviations kept back, so that a node rarely draws more than it holds."""
_WORTH = 2**14
"""Fewer items than this fall one by one more quickly than in a round."""
_AT_ONCE = 2**17
"""Items that fall one by one at the same time."""
_HUGE = 2.0**52
_FEW = 64
_NOBODY = np.zeros(0, dtype=np.int64)
_NEVER = Chances.of(_NOBODY, _NOBODY)


@dataclass(frozen=True, eq=False)
class Cascade:
    """A tree as it is drawn along: inner nodes level by level, and the children of each one after the other.

    Attributes:
        nodes: The given number of each inner node.
        spans: The inner nodes of each level, from the root down: first and last + 1.
        starts: The first leaf below each inner node.
        widths: How many leaves are below it.
        firsts: Where its children begin.
        parents: The inner node above each child.
        weights: How many leaves each child has.
        branches: For each level, which children are the inner nodes of the next, in order.
        twigs: Which children are leaves.
        leaves: Which leaves they are.
    """

    nodes: Integers
    spans: tuple[tuple[int, int], ...]
    starts: Integers
    widths: Integers
    firsts: Integers
    parents: Integers
    weights: Integers
    branches: tuple[Integers, ...]
    twigs: Integers
    leaves: Integers

    @classmethod
    def of(cls, starts: ArrayLike, ends: ArrayLike, parents: ArrayLike) -> Cascade:
        """From the leaves below each node, first and last + 1, and the node above it, -1 for roots."""
        first, last, above = (np.asarray(a, dtype=np.int64) for a in (starts, ends, parents))
        inner = last - first > 1
        covered = np.bincount(above[above >= 0], (last - first)[above >= 0], len(first))
        if (
            (covered != last - first)[inner].any()
            or ((first[above] > first) | (last[above] < last))[above >= 0].any()
            or not inner[above[above >= 0]].all()
        ):
            raise ParameterError(
                "The leaves below a node are not those of its children.",
                allowed="children that part the leaves of their node",
                fix="list every leaf as a node, with the node above it",
            )
        level = np.flatnonzero(above < 0)
        number = np.full(len(first), -1, dtype=np.int64)
        children = np.argsort(above, kind="stable")
        edge = np.searchsorted(above[children], np.arange(len(first) + 1))
        nodes, spans, firsts, kids, branches, size = [], [], [], [], [], 0
        roots = level[inner[level]]
        level, count = roots, 0
        while level.size:
            number[level] = np.arange(count, count + len(level))
            spans.append((count, count + len(level)))
            nodes.append(level)
            below = [children[edge[v] : edge[v + 1]] for v in level.tolist()]
            sizes = np.array([len(b) for b in below])
            firsts.append(size + np.cumsum(sizes) - sizes)
            flat = np.concatenate(below)
            kids.append(flat)
            branches.append(size + np.flatnonzero(inner[flat]))
            count, size, level = count + len(level), size + len(flat), flat[inner[flat]]
        order = np.concatenate(nodes) if nodes else np.zeros(0, dtype=np.int64)
        child = np.concatenate(kids) if kids else np.zeros(0, dtype=np.int64)
        twigs = np.flatnonzero(~inner[child])
        return cls(
            order,
            tuple(spans),
            first[order],
            (last - first)[order],
            np.concatenate(firsts) if firsts else np.zeros(0, dtype=np.int64),
            number[above[child]],
            (last - first)[child],
            tuple(branches),
            twigs,
            first[child[twigs]],
        )

    @cached_property
    def inner(self) -> Integers:
        """Which children are inner nodes, in the order of these."""
        return np.concatenate(self.branches)

    def rates(self, held: NDArray[Any], variance: float = 0.0) -> Integers:
        """The mean per leaf that each inner node should draw with, 0 for none.

        Any choice is right that does not depend on what is drawn with it; this one seldom draws too much, if the
        variance of ``held`` is ``variance`` times its value.
        """
        numbers: Integers = np.empty(len(held), dtype=np.int64)
        density = held / self.widths
        huge = float(held.sum()) > _HUGE
        for low, high, above, margins, least in self._levels:
            here, rate = density[low:high], numbers[low:high]
            spread = here * (1.0 + variance)
            if low:
                arriving = numbers.take(above)
                here += arriving
                spread += (2.0 + variance) * arriving
            spread *= margins
            here -= np.sqrt(spread, out=spread)
            rate[:] = here
            rate *= here >= least
            if huge:
                # A rate of 20 bits times less than 2^32 leaves is a float exactly, as the means have to be.
                beyond = np.maximum(np.frexp(rate.astype(np.float64))[1] - 20, 0).astype(np.int64)
                rate[:] = (rate >> beyond) << beyond
        return numbers

    @cached_property
    def _levels(self) -> list[tuple[int, int, Integers, Floats, Floats]]:
        """What the rates of each level need.

        Its first inner node and the one after its last; and for these the nodes above, the squares of the margins per
        item, and the least rates, which leave every child a mean that can be drawn.
        """
        margins = _MARGIN**2 / self.widths
        least = np.ceil(_LEAST / np.minimum.reduceat(self.weights, self.firsts)) if len(self.firsts) else margins
        above = [np.zeros(0, dtype=np.int64), *(self.parents.take(b) for b in self.branches)]
        return [
            (low, high, up, margins[low:high], least[low:high])
            for (low, high), up in zip(self.spans, above, strict=False)
        ]

    def means(self, rates: Integers) -> Integers:
        """The Poisson mean of each child: the rate of its parent times its leaves."""
        return rates.take(self.parents) * self.weights

    def sums(self, values: Integers, depth: int) -> Integers:
        """The sum over the children of each inner node of a level."""
        low, high = self.spans[depth]
        first = int(self.firsts[low])
        last = int(self.firsts[high]) if high < len(self.firsts) else len(values)
        numbers: Integers = np.add.reduceat(values[first:last], self.firsts[low:high] - first)
        return numbers

    def hand_down(self, held: Integers, sample: Integers, result: Integers) -> None:
        """One round: ``held`` of the inner nodes and ``result`` of the leaves change, from the root down."""
        sums = np.add.reduceat(sample, self.firsts)
        rest = held - sums
        roots = self.spans[0][1]
        rest[roots:] += sample.take(self.inner)
        if int(rest.min()) < 0:
            self._hand_down_slowly(held, sample, sums)
        else:
            held[:] = rest
        result[self.leaves] += sample.take(self.twigs)

    def _hand_down_slowly(self, held: Integers, sample: Integers, sums: Integers) -> None:
        """Level by level: who drew more than it holds hands down nothing in this round."""
        for depth, (low, high) in enumerate(self.spans):
            if depth:
                held[low:high] += sample.take(self.branches[depth - 1])
            rest = held[low:high] - sums[low:high]
            poor = low + np.flatnonzero(rest < 0)
            sample[np.isin(self.parents, poor)] = 0
            rest[poor - low] = held[poor]
            held[low:high] = rest

    def scatter(self, held: Integers, result: Integers, source: RandomSource) -> None:
        """Every item that an inner node holds falls uniformly onto one leaf below it; ``held`` becomes 0."""
        while (total := int(held.sum())) > _FEW:
            size = held.copy()
            if total > _AT_ONCE:
                size = np.diff(np.minimum(np.cumsum(held), _AT_ONCE), prepend=0)
            held -= size
            leaf, refused = uniform_in_spans(self.starts, self.widths, size, source)
            if refused is not None:
                who = np.searchsorted(np.cumsum(size), refused, side="right")
                np.add.at(held, who, 1)
                leaf = np.delete(leaf, refused)
            result += np.bincount(leaf, minlength=len(result))
        if total:
            who = np.repeat(np.arange(len(held)), held)
            leaf = self.starts[who] + uniform_below(self.widths[who], source=source)
            result += np.bincount(leaf, minlength=len(result))
            held[:] = 0

    def spread(self, held: Integers, result: Integers, source: RandomSource) -> None:
        """All rounds: everything that ``held`` says is added to the leaves in ``result``."""
        while int(held.sum()) >= _WORTH:
            rates = self.rates(held)
            if int((rates * self.widths).sum()) < _WORTH:
                break
            self.hand_down(held, poisson(self.means(rates), source), result)
        self.scatter(held, result, source)


def poisson(means: Integers, source: RandomSource) -> Integers:
    """Independent Poisson counts; the whole means are 0 or at least 17."""
    if int(means.min(initial=1)) > 0:
        return draw(_NOBODY, _NEVER, means, source)
    result = np.zeros(len(means), dtype=np.int64)
    some = np.flatnonzero(means)
    result[some] = draw(_NOBODY, _NEVER, means[some], source)
    return result
