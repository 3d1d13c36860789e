"""From noisy edge values of a tree to a histogram: post-processing, which costs no privacy.

The edge value of an edge is its length times the mass below it; EMD is the 1-norm of the difference of edge values
(docs/proofs/tree-histograms.md).

The histogram whose edge values are nearest in the 1-norm, over all edges jointly, is exact: the least cost below an
edge is a convex, piecewise linear function of the mass below it. It is kept as segments (slope, length, item): mass
fills them in the order of their slopes, and what fills a segment lies at its item. Children are joined by merging their
segments; |length mass - value| splits the segments at value/length, lowers the slopes of what is before and raises
those of what is behind.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import ParameterError, one_of
from barrow.mechanisms.decoding.tree_estimates import empirical_bayes, firsts, multipliers, running, spread, top_down
from barrow.spaces import EdgeTree, Space, edge_tree
from barrow.spaces.space import Floats, Ids

HOW = ("auto", "nearest", "top_down", "empirical_bayes")
DISTRIBUTIONS = ("laplace", "gaussian")


def as_tree(space: Space | EdgeTree) -> EdgeTree:
    """The edges of ``space``, which may be given as such already."""
    return space if isinstance(space, EdgeTree) else edge_tree(space)


def edge_values(space: Space | EdgeTree, histogram: ArrayLike) -> Floats:
    """Length times mass below, for every edge of the tree; weights may be negative, as unbiased estimates are."""
    tree = as_tree(space)
    weights = np.asarray(histogram, dtype=np.float64)
    if weights.ndim == 0 or weights.shape[-1] != tree.items:
        raise ParameterError(
            f"histogram has shape {weights.shape}.",
            allowed=f"{tree.items} weights along the last axis",
            fix="one weight for each item of the space",
        )
    return np.asarray(tree.masses(weights) * tree.lengths)


def decode(
    space: Space | EdgeTree,
    values: ArrayLike,
    *,
    how: str = "auto",
    variances: ArrayLike | None = None,
    distribution: str = "laplace",
) -> Floats:
    """The histogram that noisy edge values speak for.

    Args:
        space: A tree, clustered, discrete or line space, or its edges.
        values: A noisy edge value for each edge.
        how: ``"nearest"`` (see :func:`nearest_histogram`), ``"top_down"`` (see :func:`top_down_histogram`),
            ``"empirical_bayes"`` (see :func:`empirical_bayes_histogram`), or ``"auto"``: the most accurate one by test
            (docs/histograms.md), which is ``"nearest"`` on a line and on trees that are deep or narrow, elsewhere
            ``"empirical_bayes"`` where variances are given and ``"top_down"`` where not.
        variances: The variance of each edge value, or one for all. Where they differ, the nearest histogram weighs
            values by the inverse of their standard deviations.
        distribution: That of their noise: ``"laplace"``, or ``"gaussian"`` (means of many reports are nearly that).
    """
    one_of(how, "how", HOW)
    tree = as_tree(space)
    if how == "auto":
        how = "nearest" if _narrow(tree) else "top_down" if variances is None else "empirical_bayes"
    if how == "nearest":
        noise = np.ones(tree.edges) if variances is None else _positive(tree, variances, "variances")
        return nearest_histogram(tree, values, weights=np.sqrt(noise.min() / noise))
    if how == "top_down":
        return top_down_histogram(tree, values, variances=variances)
    if variances is None:
        raise ParameterError(
            "how is 'empirical_bayes', but variances are missing.",
            allowed="the variance of each edge value: how much to move a value depends on it",
            fix="variances=2*scale**2 for Laplace noise, or how='top_down'",
        )
    return empirical_bayes_histogram(tree, values, variances=variances, distribution=distribution)


def _narrow(tree: EdgeTree) -> bool:
    """Whether projections from the root downward would pile up errors: many levels, or few edges in each."""
    return tree.path or len(tree.levels) > 16 or tree.edges < 8 * len(tree.levels)


def nearest_histogram(space: Space | EdgeTree, values: ArrayLike, *, weights: ArrayLike | None = None) -> Floats:
    """The histogram whose edge values are nearest in the 1-norm, over all edges jointly; exact, in O(k log k) a level.

    Its EMD from the truth is at most twice the 1-norm of the noise, always: no other decoder here has such a bound.

    ``weights`` is what a unit of difference costs at each edge: 1 by default, which is what the bound needs.
    """
    tree = as_tree(space)
    targets = _numbers(tree, values, "values") / tree.lengths
    costs = tree.lengths if weights is None else tree.lengths * _positive(tree, weights, "weights")
    return nearest_on_line(costs, targets) if tree.path else nearest_on_tree(tree, costs, targets)


def top_down_histogram(space: Space | EdgeTree, values: ArrayLike, *, variances: ArrayLike | None = None) -> Floats:
    """Least squares from the leaves upward, then a projection to histograms from the root downward; O(k log k).

    On a line it is the isotonic regression: exactly the nearest distribution function in weighted least squares.

    Of ``variances`` only the ratios matter; they are equal by default.
    """
    tree, targets, noise = _scaled(space, values, variances)
    return top_down(tree, targets, noise)


def empirical_bayes_histogram(
    space: Space | EdgeTree, values: ArrayLike, *, variances: ArrayLike, distribution: str = "laplace"
) -> Floats:
    """Empirical Bayes from the root downward: the most accurate decoder on average, without a bound on its error.

    ``distribution`` is that of the noise, ``"laplace"`` or ``"gaussian"``. On a line it is :func:`nearest_histogram`.
    """
    tree = as_tree(space)
    one_of(distribution, "distribution", DISTRIBUTIONS)
    noise = _positive(tree, variances, "variances")
    if tree.path:
        return nearest_histogram(tree, values)
    scales = np.sqrt(noise / (1.0 if distribution == "gaussian" else 2.0)) / tree.lengths
    targets = _numbers(tree, values, "values") / tree.lengths
    return empirical_bayes(tree, targets, scales, gaussian=distribution == "gaussian")


def _scaled(space: Space | EdgeTree, values: ArrayLike, variances: ArrayLike | None) -> tuple[EdgeTree, Floats, Floats]:
    """The tree, estimates of the masses below its edges, and their variances."""
    tree = as_tree(space)
    noise = np.ones(tree.edges) if variances is None else _positive(tree, variances, "variances")
    # The largest variance counts as 1, so that squares of short lengths do not overflow.
    spread = noise / tree.lengths**2
    return tree, _numbers(tree, values, "values") / tree.lengths, spread / spread.max()


def _numbers(tree: EdgeTree, values: ArrayLike, name: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 and name != "values":
        array = np.full(tree.edges, float(array))
    if array.shape != (tree.edges,) or not np.isfinite(array).all():
        problem = f"has shape {array.shape}" if array.shape != (tree.edges,) else "holds numbers that are not finite"
        raise ParameterError(
            f"{name} {problem}.",
            allowed=f"a finite number for each of the {tree.edges} edges of the tree",
            fix="edge_values(space, histogram) shows their order",
        )
    return array


def _positive(tree: EdgeTree, values: ArrayLike, name: str) -> Floats:
    array = _numbers(tree, values, name)
    if not (array > 0.0).all():
        raise ParameterError(f"Some {name} are 0 or negative.", allowed="numbers above 0", fix=f"leave {name} out")
    return array


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
    result = np.bincount(segments.item, before, minlength=tree.items)
    return np.asarray(result / result.sum())


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
