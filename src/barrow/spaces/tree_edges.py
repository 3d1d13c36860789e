"""The edges of a tree metric: which items are below each, how long it is, which edge is above it.

A tree, a clustered space (two levels), a discrete space (a star) and a line (a path) all have distances that are sums
of edge lengths along the way between two items. What is built on edges (queries, decoders, predicted errors) sees all
of them through :class:`EdgeTree`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import cast

import numpy as np

from barrow.errors import ParameterError
from barrow.spaces.geometry import masses_below, tree_edges_of
from barrow.spaces.neighbours import NeighbourGraph
from barrow.spaces.space import Floats, Ids, Space


@dataclass(frozen=True, eq=False, repr=False)
class EdgeTree:
    """The edges of a tree over the items ``0 .. items-1``; below each edge are consecutive items, and never all.

    Two edges with the same items below them are one edge. Edges are listed from the root downward; those of a line
    from its first gap to its last, each with the items before the gap below it.

    Attributes:
        items: The number of items.
        starts: The first item below each edge.
        ends: The item after the last one below it.
        lengths: Normalised lengths, above 0.
        parents: The edge right above; -1 below the root.
        path: Whether this is a line (or has two items): every item but the last is right below an edge of its own.

    >>> from barrow.spaces import Clustered
    >>> tree = edge_tree(Clustered.grid(2, 2, r=0.25))
    >>> tree.starts.tolist(), tree.ends.tolist(), tree.lengths.tolist()
    ([0, 2, 0, 1, 2, 3], [2, 4, 1, 2, 3, 4], [0.375, 0.375, 0.125, 0.125, 0.125, 0.125])
    """

    items: int
    starts: Ids
    ends: Ids
    lengths: Floats
    parents: Ids
    path: bool = False

    def __repr__(self) -> str:
        return f"EdgeTree({self.items} items, {self.edges} edges)"

    @property
    def edges(self) -> int:
        """The number of edges."""
        return len(self.lengths)

    @cached_property
    def depths(self) -> Ids:
        """How many edges are above each edge."""
        if self.path:
            return np.arange(self.edges - 1, -1, -1)
        depths = np.zeros(self.edges, dtype=np.int64)
        for level in self.levels[1:]:
            depths[level] = depths[self.parents[level]] + 1
        return depths

    @cached_property
    def levels(self) -> list[Ids]:
        """The edges of each level, from the root downward."""
        if self.path:
            return [np.array([e]) for e in range(self.edges - 1, -1, -1)]
        # Edges are in the order of levels: a level ends before the first edge whose parent is in it.
        levels, start, edges = [], 0, np.arange(self.edges)
        above = -1
        while start < self.edges:
            stop = int(np.searchsorted(self.parents, above, side="right"))
            levels.append(edges[start:stop])
            above, start = stop - 1, stop
        return levels

    @cached_property
    def owners(self) -> Ids:
        """The lowest edge above each item; -1 where an item is at the root."""
        if self.path:
            return np.append(np.arange(self.edges), -1)
        owners = np.full(self.items, -1, dtype=np.int64)
        single = np.flatnonzero(self.ends - self.starts == 1)
        owners[self.starts[single]] = single
        return owners

    def masses(self, weights: Floats) -> Floats:
        """The mass of ``weights`` (one for each item, along the last axis; they may be negative) below each edge."""
        below = masses_below(weights, self.starts, self.ends)
        single = self.ends - self.starts == 1
        below[..., single] = weights[..., self.starts[single]]  # a difference of running sums would round
        return below


def edge_tree(space: Space) -> EdgeTree:
    """The edges of a tree, clustered, discrete or line space.

    >>> from barrow.spaces import Tree
    >>> edge_tree(Tree([("a", "left", 1), ("b", "left", 1), ("left", "root", 2), ("c", "root", 3)]))
    EdgeTree(3 items, 4 edges)
    """
    k = space.items
    if k == 1:
        raise ParameterError(
            "The space has one item, so its tree has no edges.",
            allowed="a space with at least two items",
            fix="no question is needed: every record is that item",
        )
    if not space.geometry.on_line:
        tree = tree_edges_of(space)
        return nested_edges(k, tree.starts, tree.ends, tree.lengths)
    each, gaps = np.arange(k - 1), cast("Floats", space.geometry.gaps)
    return EdgeTree(k, np.zeros(k - 1, dtype=np.int64), each + 1, gaps, np.append(each[1:], -1), path=True)


def tree_graph(space: Space) -> NeighbourGraph:
    """The tree of a space as a graph: items first, then the nodes in between, the root last."""
    tree = edge_tree(space)
    below = np.full(tree.edges, -1, dtype=np.int64)  # the node below each edge
    owned = tree.owners >= 0
    below[tree.owners[owned]] = np.flatnonzero(owned)
    inner = np.flatnonzero(below < 0)
    below[inner] = tree.items + np.arange(len(inner))
    at_root = np.flatnonzero(~owned)
    root = int(at_root[0]) if at_root.size else tree.items + len(inner)
    nodes = tree.items + len(inner) + (0 if at_root.size else 1)
    above = np.where(tree.parents >= 0, below[tree.parents], root)
    # A given diameter may be short of the longest path by 2^-40, and lengths of joined edges are sums.
    slack = 2.0**-38 + len(tree.levels) * 2.0**-50
    return NeighbourGraph(nodes, below, above, tree.lengths * (1.0 - slack), stretch=1 + Fraction(4.0 * slack))


def edge_names(space: Space) -> list[str]:
    """What lies below each edge, in the order of :func:`edge_tree`: an item, a cluster, a node, or all up to a point.

    >>> from barrow.spaces import Clustered
    >>> edge_names(Clustered({"fruit": ["apple", "pear"], "tool": ["saw"]}, r=0.1))
    ['fruit', 'saw', 'apple', 'pear']
    """
    tree = edge_tree(space)
    if space.geometry.on_line:
        return [f"up to {space.label(e)}" for e in range(tree.edges)]
    names = tree_edges_of(space).names()
    labels = space.labels
    spans = zip(tree.starts.tolist(), tree.ends.tolist(), strict=True)
    return [labels[a] if b == a + 1 else names.get((a, b), f"{labels[a]} to {labels[b - 1]}") for a, b in spans]


def nested_edges(items: int, starts: Ids, ends: Ids, lengths: Floats) -> EdgeTree:
    """From the spans of items below edges, in any order; edges with the same span, or with all items, are joined."""
    proper = ends - starts < items
    starts, ends, lengths = starts[proper], ends[proper], lengths[proper]
    order = np.lexsort((-ends, starts))
    starts, ends, lengths = starts[order], ends[order], lengths[order]
    new = np.flatnonzero(np.append(True, (np.diff(starts) != 0) | (np.diff(ends) != 0)))
    starts, ends, lengths = starts[new], ends[new], np.add.reduceat(lengths, new)
    if items == 2 and len(starts) == 2:
        # What is on one side is not on the other: two edges would say the same number twice.
        return EdgeTree(2, starts[:1], ends[:1], np.array([lengths.sum()]), np.array([-1]), path=True)
    # Spans are nested or disjoint; in this order those that cover an edge come before it and end after its start.
    depth = np.arange(len(starts)) - np.searchsorted(np.sort(ends), starts, side="right")
    order = np.lexsort((starts, depth))
    starts, ends, lengths, depth = starts[order], ends[order], lengths[order], depth[order]
    parents = np.full(len(starts), -1, dtype=np.int64)
    bounds = np.searchsorted(depth, np.arange(int(depth[-1]) + 2))
    for top, here, below in zip(bounds, bounds[1:], bounds[2:], strict=False):
        parents[here:below] = top + np.searchsorted(starts[top:here], starts[here:below], side="right") - 1
    return EdgeTree(items, starts, ends, lengths, parents)
