"""Shares along a tree: which outputs make up the share of a region, of an item or of a group, and how noisy they are.

A tree releases the mass below every edge with independent noise. The share of a region is a signed sum of the masses
below the edges where it begins and ends; nodes in between belong to whichever side is cheaper
(docs/proofs/edge-decoding.md, Section 10). Items that were added to the space have an output of their own each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from barrow import heavy
from barrow.errors import plain_table
from barrow.mechanisms.edge_intervals import Mask
from barrow.mechanisms.user_level.histograms import levelled
from barrow.mechanisms.user_level.levels import PARTS
from barrow.queries import tree_edges
from barrow.spaces import EdgeTree, Space, edge_tree
from barrow.spaces.augmented import base_space
from barrow.spaces.space import Floats, Ids

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class TreeShares:
    """What the outputs of a histogram along a tree are about.

    Attributes:
        tree: The edges, over an order of the items.
        order: The item at each place.
        factors: For each output, the edges first: its noise is so many times the scale.
        added: How many items the space has beside those of the tree, the last ones.
    """

    tree: EdgeTree
    order: Ids
    factors: Floats
    added: int = 0

    @classmethod
    def of(cls, space: Space) -> TreeShares:
        """The tree of a space, with noise on each edge that goes by its length.

        >>> from barrow.spaces import Clustered
        >>> TreeShares.of(Clustered.grid(2, 2, r=0.25)).factors.round(2).tolist()
        [2.67, 2.67, 8.0, 8.0, 8.0, 8.0]
        """
        tree = edge_tree(space)
        return cls(tree, np.arange(space.items), 1.0 / tree.lengths)

    @classmethod
    def from_query(cls, space: Space, query: Mapping[str, object]) -> TreeShares:
        """What a query, as plain data, asks about a space: masses below edges, weighted by level, and added items.

        >>> from barrow.spaces import Line
        >>> built = TreeShares.from_query(Line(0, 16, step=1), {"kind": "levels", "weights": [612, 388]})
        >>> built.tree.edges, built.factors[[0, -1]].round(3).tolist()
        (25, [1.634, 2.577])
        """
        table = plain_table(query, "The query")
        added = list(table.get("added", []))
        if table["kind"] != "levels" and not added:
            return cls.of(space)
        inner = base_space(space)
        levels = levelled(inner)
        if table["kind"] == "levels":
            factors, step = PARTS / np.array(table["weights"], dtype=np.float64)[levels.tree.depths], 1.0 / PARTS
        else:
            factors, step = 1.0 / levels.tree.lengths, float(tree_edges(inner).step)
        own = [1.0 / (weight * step) for weight in added]
        return cls(levels.tree, levels.order, np.append(factors, own), len(added))

    def region(self, inside: Mask) -> tuple[float, Floats]:
        """A constant, and what each output counts: q(R) = [the root is inside] + sum over edges of changes of side.

        Where items were added the root has what they leave.
        """
        tree, own = self.tree, inside[len(inside) - self.added :].astype(np.float64)
        below, root = tree_sides(tree, inside[self.order], self.factors[: tree.edges] ** 2)
        above = np.where(tree.parents >= 0, below[tree.parents], root)
        change = below.astype(np.float64) - above
        return float(root), np.append(change, own - root)

    def items(self) -> tuple[Floats, csr_array[np.float64]]:
        """For each item a constant, and what each output counts in its share (sparse): few of them do."""
        tree, count, edges = self.tree, len(self.order) + self.added, self.tree.edges
        owned = np.flatnonzero(tree.owners >= 0)
        rows = [self.order[owned], np.arange(count - self.added, count)]
        outputs, signs = [tree.owners[owned], edges + np.arange(self.added)], [np.ones(len(owned)), np.ones(self.added)]
        constant = np.zeros(count)
        if tree.path:  # an item is what is up to it, less what is up to the one before
            rows.append(self.order[1:])
            outputs.append(np.arange(edges))
            signs.append(-np.ones(edges))
        for item in self.order[tree.owners < 0].tolist():  # the last one, or one at the root, is the rest
            constant[item] = 1.0
            tops = np.append(np.flatnonzero(tree.parents < 0), edges + np.arange(self.added))
            if not tree.path:
                rows.append(np.full(len(tops), item))
                outputs.append(tops)
                signs.append(-np.ones(len(tops)))
        parts = np.concatenate(signs), (np.concatenate(rows), np.concatenate(outputs))
        return constant, heavy.sparse.csr_array(parts, shape=(count, edges + self.added))

    def groups(self) -> tuple[tuple[Ids, ...], tuple[Ids, ...]]:
        """The groups of every depth, the deepest first: the group of each item, and the output that is its share."""
        tree, count = self.tree, len(self.order) + self.added
        levels, outputs = [], []
        for edges in reversed(tree.levels):
            of = np.full(count, -1, dtype=np.int64)
            for number, edge in enumerate(edges.tolist()):
                of[self.order[tree.starts[edge] : tree.ends[edge]]] = number
            levels.append(of)
            outputs.append(edges)
        return tuple(levels), tuple(outputs)


def tree_sides(tree: EdgeTree, inside: Mask, weights: Floats) -> tuple[Mask, bool]:
    """Whether the node below each edge, and the root, count as inside: the choice of least variance.

    Items are where they are; every other node costs its weight for each edge to the other side.
    """
    owners, edges = tree.owners, tree.edges
    fixed = np.full(edges, -1)
    owned = owners >= 0
    fixed[owners[owned]] = inside[owned]
    if tree.path:
        return fixed == 1, bool(inside[-1])
    # Column s: the least cost of what is below the node if it is on side s.
    costs = np.zeros((edges + 1, 2))
    for side in (0, 1):
        costs[np.append(fixed == 1 - side, False), side] = np.inf
    at_root = inside[~owned]
    if at_root.size:
        costs[edges, 1 - int(at_root[0])] = np.inf
    up = np.where(tree.parents >= 0, tree.parents, edges)
    for here in reversed(tree.levels):
        for side in (0, 1):
            best = np.minimum(costs[here, side], costs[here, 1 - side] + weights[here])
            np.add.at(costs[:, side], up[here], best)
    sides = np.zeros(edges + 1, dtype=np.int64)
    sides[edges] = int(costs[edges, 1] < costs[edges, 0])
    for here in tree.levels:
        same = sides[up[here]]
        stay = costs[here, same] <= costs[here, 1 - same] + weights[here]
        sides[here] = np.where(stay, same, 1 - same)
    return sides[:edges] == 1, bool(sides[edges])
