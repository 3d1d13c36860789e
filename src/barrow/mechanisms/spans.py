"""The earth mover's distance as a sum over the edges of a tree, and the variance of the mass below each edge.

On line, tree, clustered and discrete spaces EMD(h, q) is the sum over edges of length times |mass of h - q below the
edge|; on every other space such a sum, along a tree whose paths are no shorter than the distances, is an upper bound.
Items below an edge stand together in an order of the items: they are a span (docs/proofs/frequency.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from barrow.spaces import Space, edge_tree
from barrow.spaces.space import Floats, Ids

if TYPE_CHECKING:
    from barrow.mechanisms.channel import TreeChannel


@dataclass(frozen=True, eq=False)
class Spans:
    """Edges with the items below them.

    Attributes:
        lengths: The normalised length of each edge.
        starts: The place, in ``order``, of the first item below it.
        ends: The place after the last one.
        order: The items in an order in which those below an edge stand together.
        exact: Whether the sum over edges is the earth mover's distance, or only an upper bound on it.
    """

    lengths: Floats
    starts: Ids
    ends: Ids
    order: Ids
    exact: bool = True

    def masses(self, values: Floats) -> Floats:
        """The mass of ``values`` in each span."""
        running = np.concatenate([[0.0], np.cumsum(values[self.order])])
        return np.asarray(running[self.ends] - running[self.starts])

    def spread(self, weights: Floats) -> Floats:
        """For each item, the sum of the weights of the spans that it is in."""
        change = np.zeros(len(self.order) + 1)
        np.add.at(change, self.starts, weights)
        np.add.at(change, self.ends, -weights)
        result = np.zeros(len(self.order))
        result[self.order] = np.cumsum(change)[:-1]
        return result


def spans_of(space: Space) -> Spans:
    """The edges of a space: exact on line, tree, clustered and discrete spaces, an upper bound on others."""
    k = space.items
    every = np.arange(k)
    if k == 1:
        return Spans(np.zeros(0), every[:0], every[:0], every)
    if space.geometry.has_tree:
        tree = edge_tree(space)
        return Spans(tree.lengths, tree.starts, tree.ends, every)
    if space.geometry.gaps is not None:
        # Cut open, a circle is a line, and no way along it is shorter than on the circle.
        return Spans(space.geometry.gaps[:-1], np.zeros(k - 1, dtype=np.int64), every[1:], every, exact=False)
    return halving_spans(space)


def halving_spans(space: Space) -> Spans:
    """A tree over any space: the items are halved again and again, each part being led by one of its items.

    An edge is as long as the distance between the leaders of a part and of the part that it was cut from, so a path
    is a chain of distances, and no shorter than the distance between its ends.
    """
    order = np.arange(space.items)
    edges: list[tuple[float, int, int]] = []
    stack = [(0, space.items, _halve(space, order))]
    while stack:
        start, end, leader = stack.pop()
        if end - start == 1:
            continue
        middle = (start + end) // 2
        for a, b in ((start, middle), (middle, end)):
            head = _halve(space, order[a:b])
            edges.append((float(space.block([head], [leader])[0, 0]), a, b))
            stack.append((a, b, head))
    lengths = np.array([length for length, _, _ in edges]) * (1.0 + 2.0 * space.distance_error)
    starts, ends = (np.array([edge[i] for edge in edges], dtype=np.int64) for i in (1, 2))
    return Spans(lengths, starts, ends, order, exact=False)


def _halve(space: Space, part: Ids) -> int:
    """Puts a part in order from one far end to the other, in place, and returns an item in its middle."""
    if len(part) == 1:
        return int(part[0])
    one = part[int(np.argmax(space.block([part[0]], part)[0]))]
    from_one = space.block([one], part)[0]
    from_other = space.block([part[int(np.argmax(from_one))]], part)[0]
    leader = int(part[int(np.argmin(np.maximum(from_one, from_other)))])
    part[:] = part[np.argsort(from_one - from_other, kind="stable")]
    return leader


class SpanMoments(Protocol):
    """g_e = B 1_e for each span e: the estimated mass of e is the mean of g_e over the reports."""

    def at(self, law: Floats) -> Floats:
        """For each span, the mean of g_e squared when reports follow ``law``."""

    def weighted(self, weights: Floats) -> Floats:
        """For each report, the sum over spans of weight times g_e squared."""


class DenseMoments:
    """By the columns of a right inverse, added up over each span."""

    def __init__(self, spans: Spans, inverse: Floats) -> None:
        running = np.zeros((len(inverse), len(spans.order) + 1))
        np.cumsum(inverse[:, spans.order], axis=1, out=running[:, 1:])
        self._squares = (running[:, spans.ends] - running[:, spans.starts]) ** 2

    def at(self, law: Floats) -> Floats:
        """The mean of the squares."""
        return np.asarray(law @ self._squares)

    def weighted(self, weights: Floats) -> Floats:
        """The weighted sum of the squares."""
        return np.asarray(self._squares @ weights)


class FlatMoments:
    """Randomised response: g_e takes two values, inside and outside the span."""

    def __init__(self, spans: Spans, onward: float, items: int) -> None:
        self._spans = spans
        blind = (1.0 - onward) * (spans.ends - spans.starts) / items
        self._inside, self._outside = ((1.0 - blind) / onward) ** 2, (blind / onward) ** 2

    def at(self, law: Floats) -> Floats:
        """Two values, by the mass of the span."""
        mass = self._spans.masses(law)
        return np.asarray(mass * self._inside + (1.0 - mass) * self._outside)

    def weighted(self, weights: Floats) -> Floats:
        """The outside value everywhere, and the difference inside."""
        return self._spans.spread(weights * (self._inside - self._outside)) + float((weights * self._outside).sum())


class TreeMoments:
    """Nodes of the channel's own tree: g_c is constant on c, and on what each node above has beside it.

    With n the number of items below, p = n_c/n_v for the parent v of c, and R the chance of going on below v:
    g_c = p g_v + (1_c - p 1_v)/R, so that g_c = p g_v outside v.

    >>> from barrow.mechanisms.channel import TreeChannel
    >>> from barrow.randomisers import gkrr
    >>> from barrow.spaces import Clustered
    >>> space = Clustered.grid(2, 3, r=0.1)
    >>> channel, spans = TreeChannel.of(gkrr(space, 2)), spans_of(space)
    >>> law = np.arange(6) / 15
    >>> np.allclose(channel.moments(spans).at(law), DenseMoments(spans, channel.right_inverse()).at(law))
    True
    """

    def __init__(self, channel: TreeChannel, nodes: Ids) -> None:
        self._channel, self._nodes = channel, nodes
        count = len(channel.parents)
        self._inside, self._beside, self._part = np.ones(count), np.zeros(count), np.ones(count)
        for level in channel.levels[1:]:
            above = channel.parents[level]
            part, rate = channel.widths[level] / channel.widths[above], 1.0 / channel.onward[above]
            self._part[level] = part
            self._beside[level] = part * (self._inside[above] - rate)
            self._inside[level] = part * self._inside[above] + (1.0 - part) * rate

    def at(self, law: Floats) -> Floats:
        """From the root down: what is outside shrinks by p^2, and the siblings come to it."""
        channel = self._channel
        mass = channel.masses(law)
        outside = np.zeros(len(mass))
        for level in channel.levels[1:]:
            above = channel.parents[level]
            outside[level] = self._part[level] ** 2 * outside[above] + (mass[above] - mass[level]) * (
                self._beside[level] ** 2
            )
        return np.asarray((outside + mass * self._inside**2)[self._nodes])

    def weighted(self, weights: Floats) -> Floats:
        """From the leaves up, the weight with which a node is seen from outside; then down to the reports."""
        channel = self._channel
        own = np.zeros(len(channel.parents))
        np.add.at(own, self._nodes, weights)
        seen, branches = own.copy(), np.zeros(len(own))
        for level in reversed(channel.levels[1:]):
            above = channel.parents[level]
            np.add.at(seen, above, self._part[level] ** 2 * seen[level])
            np.add.at(branches, above, seen[level] * self._beside[level] ** 2)
        total = own * self._inside**2 + branches
        for level in channel.levels[1:]:
            above = channel.parents[level]
            total[level] += total[above] - seen[level] * self._beside[level] ** 2
        return np.asarray(total[channel.leaves])
