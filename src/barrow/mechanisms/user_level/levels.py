"""Levels of a tree: weights for the mass below each edge, and the groups of items of each level.

The EMD is mostly made of the masses of large groups, which a flat histogram adds up from many noisy entries. Under
user-level DP each level gets a share of epsilon (central), or each user reports at one level (local).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.queries import Query
from barrow.queries.base import ClosedForm
from barrow.queries.quantised import Quantised
from barrow.spaces import EdgeTree, Space, edge_names, edge_tree
from barrow.spaces.base import Floats, Ids

Integers = NDArray[np.int64]

PARTS = 1000
"""Shares of epsilon and of users are multiples of 1/1000: public and exact."""


def has_levels(space: Space) -> bool:
    """Whether the space is a tree of two levels or more."""
    if not space.has_tree or space.items < 3:
        return False
    tree = edge_tree(space)
    return not tree.path and len(tree.levels) > 1


def levelled_tree(space: Space) -> EdgeTree:
    """The tree of a space, if it has more than one level."""
    if not has_levels(space):
        raise ParameterError(
            f"The {space.kind} space has no levels.",
            allowed="a clustered space, or a tree of two levels or more",
            fix="a flat histogram: kind='cells'",
        )
    return edge_tree(space)


def parts(values: Floats) -> tuple[int, ...]:
    """Whole numbers of 1 or more in about these proportions, with the sum 1,000."""
    found = np.maximum(np.round(values / values.sum() * PARTS).astype(np.int64), 1)
    found[int(np.argmax(found))] += PARTS - int(found.sum())
    return tuple(int(x) for x in found)


def weighted_masses(
    space: Space,
    tree: EdgeTree,
    weights: tuple[int, ...],
    order: Ids | None = None,
    names: Callable[[], Sequence[str]] | None = None,
    step: Fraction = Fraction(1),
) -> Query:
    """The mass below each edge times its level's weight, as a query; only its range is ever asked for.

    Where the tree is over an order of the items, ``order`` holds the item at each place; ``step`` times the whole
    weights is what counts.
    """
    from scipy.sparse import csr_array

    widths = tree.ends - tree.starts
    edges = np.repeat(np.arange(tree.edges), widths)
    items = np.arange(int(widths.sum())) - np.repeat(np.cumsum(widths) - widths - tree.starts, widths)
    whole = np.array(weights, dtype=np.int64)[tree.depths][edges]
    items = items if order is None else order[items]
    table = csr_array((whole, (items, edges)), shape=(space.items, tree.edges))

    def bound(p: float) -> float:
        steep = float(step) / space.least_distance_lower
        size = max(weights) if math.isinf(p) else (2.0 * sum(float(w) ** p for w in weights)) ** (1.0 / p)
        return size * steep * (1.0 + 2.0**-40)

    return Query(
        space,
        "levels",
        "",
        "weighted masses below edges",
        Quantised(table, step, 0.0),
        {"weights": list(weights)},
        ClosedForm(bound),
        lambda: edge_names(space) if names is None else list(names()),
    )


@dataclass(frozen=True, eq=False)
class Cells:
    """The groups of one level: the edge above each, and the group of each item.

    Where a leaf hangs higher than the level, it is a group of its own.
    """

    edges: Integers
    of_item: Integers


def cells_of(tree: EdgeTree) -> list[Cells]:
    """The groups of items of each level, from the root downward."""
    found = []
    for depth in range(len(tree.levels)):
        at = tree.owners.copy()
        while (deep := tree.depths[at] > depth).any():
            at = np.where(deep, tree.parents[at], at)
        edges, of_item = np.unique(at, return_inverse=True)
        found.append(Cells(edges, of_item))
    return found
