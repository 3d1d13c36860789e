"""Pooled counts through a channel of the kind "stop on the way down, then anywhere below".

Seen from the leaf upwards, an item that has not stopped below a node stops there with a probability of the node alone.
So only the leaves need a draw each; above them the items of a node are pooled (docs/proofs/exact-counts.md, Section 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.noise.counts.binomial import binomials, binomials_and_poisson
from barrow.noise.counts.cascade import Cascade
from barrow.noise.counts.chances import Chances
from barrow.noise.counts.uniform_int import MOST
from barrow.noise.source import RandomSource
from barrow.randomisers.randomiser import TOTAL, Integers
from barrow.randomisers.shape import Shape

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PooledStops:
    """What the draws need of a tree and its stopping weights, all public.

    Attributes:
        cascade: The tree.
        stay: For each item, the probability of staying.
        stop: For the inner nodes of each level, the probability of stopping there if not below.
        share: For each inner node, the probability of stopping there, in floats: it only chooses how to draw.
    """

    cascade: Cascade
    stay: Chances
    stop: tuple[Chances, ...]
    share: Floats

    @classmethod
    def of(cls, shape: Shape, stops: Sequence[int], through: Integers) -> PooledStops:
        """From whole stopping weights, and their sums from the root down to each node."""
        tree = Cascade.of(shape.starts, shape.ends, shape.parents)
        weights, sums = np.array(stops, dtype=np.uint64), through.astype(np.uint64)
        inner, leaves = tree.nodes, shape.leaves
        # A node at which nobody can be has the sum 0: 0/1 keeps its fraction well defined.
        chances = tuple(
            Chances.of(weights[inner[a:b]], np.maximum(sums[inner[a:b]], np.uint64(1))) for a, b in tree.spans
        )
        stay = Chances.of(weights[leaves], np.full(len(leaves), TOTAL, dtype=np.uint64))
        return cls(tree, stay, chances, weights[inner] / TOTAL)

    def draw(self, counts: Integers, source: RandomSource) -> Integers:
        """The histogram of the reports on ``counts`` items of each kind."""
        tree = self.cascade
        # The first round of falling is drawn together with who stays, with rates from what is expected to stop.
        below = np.zeros(len(counts) + 1)
        np.cumsum(counts, out=below[1:])
        if below[-1] > MOST:
            raise ParameterError(
                f"There are about {below[-1]:.3g} items.", allowed="at most 2^62 in all", fix="release them in parts"
            )
        stopping = (below[tree.starts + tree.widths] - below[tree.starts]) * self.share
        means = tree.means(tree.rates(stopping, variance=1.0))
        result, sample = binomials_and_poisson(counts, self.stay, means, source)
        left = np.zeros(len(tree.parents), dtype=np.int64)
        left[tree.twigs] = (counts - result).take(tree.leaves)
        held = np.empty(len(tree.widths), dtype=np.int64)
        for depth in range(len(tree.spans) - 1, -1, -1):
            low, high = tree.spans[depth]
            there = tree.sums(left, depth)
            if depth:  # at the root everybody stops
                stopped = binomials(there, self.stop[depth], source)
                left[tree.branches[depth - 1]] = there - stopped
                there = stopped
            held[low:high] = there
        tree.hand_down(held, sample, result)
        tree.spread(held, result, source)
        return result
