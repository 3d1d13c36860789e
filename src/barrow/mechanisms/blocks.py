"""Blocks of neighbouring nodes that stand out from the noise together, where single ones do not.

The family is public: all dyadic blocks of a grid of nodes or of a line, the groups of a tree. Every block has a half
width at its share of the miss rate, so that all of them hold at once, and whoever looks may choose among them
afterwards (docs/proofs/blocks.md). Along edges a block is as noisy as its boundary, and blocks with equal boundaries
share one number: that makes the widths of 9,000 nodes a matter of a second or two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from barrow.mechanisms.edge_histogram import EdgeHistogram
from barrow.mechanisms.edge_intervals import Mask, noise_of
from barrow.mechanisms.edge_noise import kinds_of
from barrow.numerics import float_up
from barrow.numerics.search import distinct
from barrow.spaces import NeighbourGraph
from barrow.spaces.augmented import base_space
from barrow.spaces.nearness import coordinates
from barrow.spaces.space import Floats, Ids

_MOST_STEPS = 8
Levels = tuple[Ids, ...]
"""For each level, the finest first: the block of every unit, -1 where it is in none."""


@dataclass(frozen=True, eq=False)
class NestedBlocks:
    """A public family of nested blocks of units, with half widths at which all of them hold at once.

    Attributes:
        levels: The block of every unit, level by level, the finest first; blocks of a level are disjoint, and each lies
            in one block of the next level, or in none.
        widths: The half width of every block.
        outputs: Along a tree: the released output that is each block's share; else shares of units are added up.

    >>> built = NestedBlocks((np.arange(4), np.array([0, 0, 1, 1])), (np.full(4, 0.2), np.full(2, 0.2)))
    >>> result = built.merged(np.array([0.5, 0.1, 0.15, 0.15]))
    >>> result.of_unit.tolist(), result.low.round(2).tolist()
    ([0, -1, 1, 1], [0.3, 0.1])
    """

    levels: Levels
    widths: tuple[Floats, ...]
    outputs: tuple[Ids, ...] | None = None

    def shares(self, released: Floats) -> list[Floats]:
        """The unbiased share of every block, level by level."""
        if self.outputs is not None:
            return [released[outputs] for outputs in self.outputs]
        return [
            np.asarray(np.bincount(of[of >= 0], released[of >= 0], len(wide)), dtype=np.float64)
            for of, wide in zip(self.levels, self.widths, strict=True)
        ]

    def merged(self, released: Floats) -> Merged:
        """Every block that stands out and has none inside that does."""
        units = len(self.levels[0])
        taken, of_unit = np.zeros(units, dtype=bool), np.full(units, -1, dtype=np.int64)
        parts: list[tuple[Floats, Floats]] = []
        count = 0
        for of, shares, wide in zip(self.levels, self.shares(released), self.widths, strict=True):
            known = of >= 0
            out = shares > wide
            inside = np.bincount(of[known & taken], minlength=len(wide)) > 0
            shown = np.flatnonzero(out & ~inside)
            number = np.full(len(wide), -1, dtype=np.int64)
            number[shown] = count + np.arange(len(shown))
            here = np.where(known, number[of], -1)
            of_unit = np.where(here >= 0, here, of_unit)
            taken |= known & out[of]
            parts.append((shares[shown], wide[shown]))
            count += len(shown)
        share, wide = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Merged(of_unit, share, np.maximum(share - wide, 0.0), np.minimum(share + wide, 1.0))

    def lower(self, released: Floats, inside: Mask) -> float:
        """A lower end for the units that are ``inside``, by the best choice of disjoint blocks: it holds with all."""
        least, before = np.zeros(0), np.full(len(inside), -1, dtype=np.int64)
        for of, shares, wide in zip(self.levels, self.shares(released), self.widths, strict=True):
            whole = np.bincount(of[(of >= 0) & ~inside], minlength=len(wide)) == 0
            home = np.zeros(len(least), dtype=np.int64)
            home[before[before >= 0]] = of[before >= 0]
            parts = np.bincount(home, least, len(wide))
            least, before = np.maximum(np.where(whole, shares - wide, 0.0), parts), of
        return float(least.sum())


@dataclass(frozen=True, eq=False)
class Merged:
    """Blocks that stand out, disjoint; their intervals hold all at once.

    Attributes:
        of_unit: The block of every unit; -1 where nothing stands out.
        share: The unbiased share of each block.
        low: The lower ends, above 0.
        high: The upper ends.
    """

    of_unit: Ids
    share: Floats
    low: Floats
    high: Floats


def dyadic_levels(shape: Sequence[int], units: int | None = None) -> Levels:
    """The dyadic blocks of a grid of nodes, numbered row by row; units after the last node are in none.

    >>> [level.tolist() for level in dyadic_levels((5,))]
    [[0, 1, 2, 3, 4], [0, 0, 1, 1, 2], [0, 0, 0, 0, 1]]
    """
    results = []
    for level in range(max(1, math.ceil(math.log2(max(shape))))):
        sides = [(count - 1 >> level) + 1 for count in shape]
        each = [np.arange(count) >> level for count in shape]
        here = np.ravel_multi_index(np.meshgrid(*each, indexing="ij"), sides).ravel()
        results.append(here if units is None else np.append(here, np.full(units - len(here), -1, dtype=np.int64)))
    return tuple(results)


def halved_levels(places: Floats) -> Levels:
    """Blocks of places that are in no grid: halved along their longest side again and again.

    >>> [level.tolist() for level in halved_levels(np.array([[0.0], [3.0], [1.0]]))]
    [[0, 2, 1], [0, 1, 0]]
    """
    count = len(places)
    of, results = np.zeros(count, dtype=np.int64), []
    while True:
        blocks = int(of.max()) + 1
        order = np.argsort(of, kind="stable")
        starts = np.searchsorted(of[order], np.arange(blocks + 1))
        sizes = np.diff(starts)
        if int(sizes.max()) == 1:
            break
        low, high = (np.stack([f.reduceat(c[order], starts[:-1]) for c in places.T]) for f in (np.minimum, np.maximum))
        side = np.argmax(high - low, axis=0)
        along = places[np.arange(count), side[of]]
        order = np.lexsort((along, of))
        rank = np.arange(count) - starts[of[order]]
        upper = np.zeros(count, dtype=np.int64)
        upper[order] = rank >= (sizes[of[order]] + 1) // 2
        _, of = np.unique(2 * of + upper, return_inverse=True)
        of = of.ravel().astype(np.int64)
        results.append(of)
    # In the plane halving twice makes squares of squares: every other level is enough.
    return tuple(results[::-1][:: min(2, places.shape[1])]) or (of,)


def grid_shape(graph: NeighbourGraph) -> tuple[int, ...] | None:
    """The shape of a graph that is a grid of nodes numbered row by row, open or closed; else None.

    >>> from barrow.spaces import Euclidean, Line
    >>> grid_shape(Euclidean([0, 0], [3, 2], step=1).graph()), grid_shape(Line(0, 4, step=1).graph())
    ((3, 2), (5,))
    """
    steps = distinct(np.abs(graph.heads - graph.tails))
    if len(steps) > _MOST_STEPS:
        return None
    strides = [int(step) for step in steps if 1 < step < graph.nodes and graph.nodes % step == 0]
    for many in range(len(strides) + 1):
        for chosen in combinations(strides, many):
            ends = (1, *chosen, graph.nodes)
            shape = [b // a for a, b in pairwise(ends)][::-1]
            if all(b % a == 0 for a, b in pairwise(ends)) and _is_grid(graph, shape):
                return tuple(shape)
    return None


def _is_grid(graph: NeighbourGraph, shape: list[int]) -> bool:
    """Whether every edge is a step along one axis, or closes it."""
    tails, heads = (np.array(np.unravel_index(ends, shape)) for ends in (graph.tails, graph.heads))
    off = np.abs(heads - tails)
    one = (off == 1) | ((off == np.array(shape)[:, None] - 1) & (off > 0))
    return bool((((off > 0).sum(axis=0) == 1) & one.any(axis=0)).all())


def node_levels(plan: EdgeHistogram) -> Levels:
    """Blocks of the nodes that carry items of the base space: dyadic where they are a grid, else by halving."""
    graph, inner = plan.graph, base_space(plan.space)
    if "graph" not in plan.query.arguments and inner.items > 1:
        own = inner.graph(plan.query.arguments.get("spacing"))
        shape = grid_shape(own) if graph.nodes - own.nodes == plan.space.items - inner.items else None
        if shape is not None and (graph.weights is not None or own.nodes == inner.items):
            return dyadic_levels(shape, graph.nodes)
    carried = plan.decoder.weights[: inner.items]
    total = np.asarray(carried.sum(axis=0)).ravel()
    nodes = np.flatnonzero(total > 0.0)
    places = np.asarray(carried.T @ coordinates(inner))[nodes] / total[nodes, None]
    results = []
    for of in halved_levels(places):
        here = np.full(graph.nodes, -1, dtype=np.int64)
        here[nodes] = of
        results.append(here)
    return tuple(results)


def all_at_once(levels: Levels, miss: float) -> list[tuple[Ids, int, float]]:
    """For each level: the block of every unit, how many there are, and the share of ``miss`` of each (Bonferroni)."""
    results = []
    for of in levels:
        count = int(of.max()) + 1
        results.append((of, count, miss / (len(levels) * count) * (1.0 - 1e-9)))
    return results


def edge_blocks(plan: EdgeHistogram, levels: Levels, miss: float) -> NestedBlocks:
    """The dyadic blocks of a graph's nodes, with half widths by the edges that each block cuts."""
    return NestedBlocks(levels, tuple(_boundary_widths(plan, *level) for level in all_at_once(levels, miss)))


def _boundary_widths(plan: EdgeHistogram, of: Ids, count: int, miss: float) -> Floats:
    first, kinds = _boundary_kinds(plan, of, count)
    each = np.array([noise_of(plan, (of == block).astype(np.float64)).half_width(miss) for block in first.tolist()])
    rounding = float_up(plan.grid) / 2.0 * np.bincount(of[of >= 0], minlength=count)
    return np.asarray((each[kinds] + rounding) * (1.0 + 1e-9))


def _boundary_kinds(plan: EdgeHistogram, of: Ids, count: int) -> tuple[Ids, Ids]:
    """One block of each kind of boundary, and the kind of every block: equal sums of two marks for each part.

    A part is an edge that is drawn alone and cut, by its length; or a cycle that is cut, by the lengths round it and by
    which of its four nodes are in the block.
    """
    graph = plan.graph
    cut = np.flatnonzero(plan.alone & (of[graph.tails] != of[graph.heads]))
    lengths, code = np.unique(graph.lengths[cut], return_inverse=True)
    blocks, codes, many = [of[graph.tails[cut]], of[graph.heads[cut]]], [code, code], len(lengths)
    if plan.faces is not None:
        corners = of[graph.face_nodes]
        rows, code = np.unique(graph.lengths[plan.faces], axis=0, return_inverse=True)
        for k in range(4):
            same = corners == corners[:, k : k + 1]
            held = same @ (1 << np.arange(4))
            new = (same.argmax(axis=1) == k) & (held != 15)
            blocks.append(corners[new, k])
            codes.append(many + 16 * code.ravel()[new] + held[new])
        many += 16 * len(rows)
    result, parts = np.concatenate(blocks), np.concatenate(codes)
    return kinds_of(result[result >= 0], parts[result >= 0], count, many)


def sized_blocks(levels: Levels, miss: float, width: Callable[[int, float], float]) -> NestedBlocks:
    """Blocks of items that have noise of their own each: the half width goes by how many items they hold."""
    results = []
    for of, count, own in all_at_once(levels, miss):
        sizes = np.bincount(of[of >= 0], minlength=count)
        known, kinds = np.unique(sizes, return_inverse=True)
        results.append(np.array([width(int(size), own) for size in known])[kinds.ravel()])
    return NestedBlocks(levels, tuple(results))
