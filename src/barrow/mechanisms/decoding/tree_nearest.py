"""The histogram whose edge values are nearest in the 1-norm, over all edges of a tree jointly; exact.

The least cost below an edge is a convex, piecewise linear function of the mass below it. It is kept as segments
(slope, length, item): mass fills them in the order of their slopes, and what fills a segment lies at its item. Children
are joined by merging their segments; |length mass - value| splits the segments at value/length, lowers the slopes of
what is before and raises those of what is behind (docs/proofs/tree-histograms.md).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from barrow.mechanisms.decoding.tree_estimates import firsts, multipliers, running, spread
from barrow.spaces import EdgeTree
from barrow.spaces.base import Floats, Ids


@dataclass(frozen=True, eq=False)
class _Segments:
    """Segments of the cost functions of many edges: ``edge`` says of which.

    A finite segment's ``size`` is its length. The last segment of an item has no end; its ``size`` is 0 or less: how
    far the item's own value was below what it already holds. Of items with equal slopes those are filled first.
    """

    edge: Ids
    slope: Floats
    size: Floats
    item: Ids
    endless: NDArray[np.bool_]

    def take(self, chosen: NDArray[np.bool_] | Ids) -> _Segments:
        return _Segments(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    @staticmethod
    def join(*parts: _Segments) -> _Segments:
        return _Segments(
            *(np.concatenate([getattr(x, name) for x in parts]) for name in _Segments.__dataclass_fields__)
        )


def nearest_on_tree(tree: EdgeTree, costs: Floats, targets: Floats) -> Floats:
    """The histogram that minimises sum_e costs_e |mass below e - targets_e|.

    Where several do, items of the same rank share what is missing or too much as least squares would: none is
    preferred for its place in the list.
    """
    lone = np.argsort(tree.owners, kind="stable")
    owners = tree.owners[lone]

    def items_at(low: int, high: int) -> _Segments:
        """What lies at the lower ends of the edges low .. high-1 takes any mass at no cost."""
        here = slice(*np.searchsorted(owners, [low, high]))
        size, slope = np.minimum(targets[owners[here]], 0.0), np.zeros(len(owners[here]))
        return _Segments(owners[here], slope, size, lone[here], np.ones(len(slope), dtype=bool))

    segments = items_at(0, 0)
    for level in reversed(tree.levels):
        segments = _Segments.join(segments, items_at(int(level.min()), int(level.max()) + 1))
        segments, before, behind = _fill(segments, np.clip(targets, 0.0, 1.0))
        change = costs[segments.edge]
        above = tree.parents[segments.edge]
        finite = np.zeros(len(before), dtype=bool)
        lower = _Segments(above, segments.slope - change, before, segments.item, finite)
        upper = _Segments(above, segments.slope + change, behind, segments.item, segments.endless)
        segments = _Segments.join(lower.take(before > 0.0), upper.take(segments.endless | (behind > 0.0)))
    at_root = np.flatnonzero(owners == -1)
    zero = np.zeros(len(at_root))
    ends = _Segments(owners[at_root], zero, zero, lone[at_root], np.ones(len(zero), dtype=bool))
    segments, before, _ = _fill(_Segments.join(segments, ends), np.ones(1))
    found = np.bincount(segments.item, before, minlength=tree.items)
    return np.asarray(found / found.sum())


def _fill(segments: _Segments, amounts: Floats) -> tuple[_Segments, Floats, Floats]:
    """Fills the segments of each edge with ``amounts[edge]``, the least slopes first.

    Returns:
        The segments in the order of edge and slope, without those beyond mass 1; what of each is filled; what remains
        (see :class:`_Segments` for those without end).
    """
    segments = segments.take(np.lexsort((segments.endless, segments.slope, segments.edge)))
    ties = firsts(segments.edge, segments.slope, segments.endless)
    tie = spread(ties, len(segments.edge))
    # No more than mass 1 will ever be asked for: an endless segment is as good as one of length 1.
    room = np.add.reduceat(np.where(segments.endless, 1.0, segments.size), ties)
    edges = segments.edge[ties]
    start = running(room, firsts(edges)) - room
    share = np.clip(amounts[edges] - start, 0.0, np.where(segments.endless[ties], np.inf, room))
    near = (start < 1.0)[tie]
    full = (~segments.endless[ties] & (share >= room))[tie]
    before = np.where(full, segments.size, 0.0)
    behind = np.where(full, 0.0, segments.size)
    split = np.flatnonzero((share > 0.0)[tie] & ~full)
    if len(split):
        parts = firsts(tie[split])
        size, wanted = segments.size[split], share[tie[split][parts]]
        level = multipliers(size, np.ones(len(split)), parts, wanted)[spread(parts, len(split))]
        filled = np.maximum(size + level, 0.0)
        before[split] = filled
        behind[split] = np.where(segments.endless[split], np.minimum(size + level, 0.0), size - filled)
    return segments.take(near), before[near], behind[near]


def nearest_on_line(costs: Floats, targets: Floats) -> Floats:
    """The same on a line: the nearest distribution function, which is an isotonic regression in the 1-norm.

    The slope of the least cost of what is before a gap, as a function of the mass there, is kept as a heap of the
    places where it changes; what lies behind its least point is never needed. Limits of 0 and 1 are met by clipping.
    """
    heap: list[tuple[float, float]] = []
    best = np.empty(len(costs))
    for e, (cost, target) in enumerate(zip(costs.tolist(), targets.tolist(), strict=True)):
        # |x - target| changes the slope by 2 cost at target; then what is above slope 0 is cut off.
        heapq.heappush(heap, (-target, 2.0 * cost))
        excess = cost
        while excess > 0.0:
            place, change = heap[0]
            if change > excess:
                heapq.heapreplace(heap, (place, change - excess))
            else:
                heapq.heappop(heap)
            excess -= min(change, excess)
        best[e] = -heap[0][0]
    # The best mass before a gap is the least of the best ones before later gaps and its own.
    limit = np.minimum.accumulate(best[::-1])[::-1]
    return np.diff(np.clip(limit, 0.0, 1.0), prepend=0.0, append=1.0)
