"""Levels of a tree, that of the space or one of two levels over any space, and what is asked of each level.

The EMD is mostly made of the masses of large groups, which a flat histogram adds up from many noisy entries. Under
user-level DP each level gets a share of epsilon (central), or each user reports at one level (local). Where the space
is no tree, groups of items that are near each other are made from the space alone, so that any are as private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from barrow import heavy
from barrow.errors import ParameterError
from barrow.numerics.search import median
from barrow.queries import Query
from barrow.queries.quantised import Quantised
from barrow.queries.query import ClosedForm
from barrow.spaces import EdgeTree, Space, edge_names, edge_tree
from barrow.spaces.nearness import coordinates
from barrow.spaces.space import Floats, Ids
from barrow.spaces.tree_edges import nested_edges

Integers = NDArray[np.int64]
PARTS = 1000
"""Shares of epsilon and of users are multiples of 1/1000: public and exact."""
LEAST_ITEMS, MOST_ITEMS = 16, 1_000_000
"""Fewer items need no groups; a million take seconds to decode."""
MOST_MEASURED = 256
"""So many groups are measured at most, each from its middle."""


def has_levels(space: Space) -> bool:
    """Whether the space is a tree of two levels or more."""
    if not space.geometry.has_tree or space.items < 3:
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
    result = np.maximum(np.round(values / values.sum() * PARTS).astype(np.int64), 1)
    result[int(np.argmax(result))] += PARTS - int(result.sum())
    return tuple(int(x) for x in result)


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
    widths = tree.ends - tree.starts
    edges = np.repeat(np.arange(tree.edges), widths)
    items = np.arange(int(widths.sum())) - np.repeat(np.cumsum(widths) - widths - tree.starts, widths)
    whole = np.array(weights, dtype=np.int64)[tree.depths][edges]
    items = items if order is None else order[items]
    table = heavy.sparse.csr_array((whole, (items, edges)), shape=(space.items, tree.edges))

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
class LevelGroups:
    """The groups of one level: the edge above each, and the group of each item.

    Where a leaf hangs higher than the level, it is a group of its own.
    """

    edges: Integers
    of_item: Integers


def cells_of(tree: EdgeTree) -> list[LevelGroups]:
    """The groups of items of each level, from the root downward."""
    results = []
    for depth in range(len(tree.levels)):
        at = tree.owners.copy()
        while (deep := tree.depths[at] > depth).any():
            at = np.where(deep, tree.parents[at], at)
        edges, of_item = np.unique(at, return_inverse=True)
        results.append(LevelGroups(edges, of_item))
    return results


@dataclass(frozen=True, eq=False)
class Grouped:
    """Items in an order in which groups are consecutive, and the tree over that order.

    Attributes:
        order: The item at each place.
        tree: Its edges, those of groups first.
        named: What lies below each edge, in words that are made when they are asked for.
    """

    order: Ids
    tree: EdgeTree
    named: Callable[[], tuple[str, ...]]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What lies below each edge, in words."""
        return self.named()


def has_groups(space: Space) -> bool:
    """Whether the space has enough items for groups, and not too many."""
    return LEAST_ITEMS <= space.items <= MOST_ITEMS


@lru_cache(maxsize=8)
def grouped(space: Space) -> Grouped:
    """About as many groups as there are items in each, by halving along the longest side again and again."""
    if not has_groups(space):
        raise ParameterError(
            f"The space has {space.items:,} items.",
            allowed=f"{LEAST_ITEMS} to {MOST_ITEMS:,} items, for groups of them",
            fix="a flat histogram: kind='cells'",
        )
    places, count = coordinates(space), 2 ** math.ceil(math.log2(space.items) / 2.0 - 1e-9)
    groups = [np.arange(space.items)]
    while len(groups) < count:
        halves = [half for group in groups for half in _halves(group, places)]
        if len(halves) == len(groups):
            break
        groups = halves
    # Where there are many groups some of them say how wide they are: one search for each takes long on large graphs.
    some = groups[:: -(-len(groups) // MOST_MEASURED)]
    radii = [float(space.distance(group, group[len(group) // 2]).max()) for group in some]
    if len(some) < len(groups):
        radii = [median(radii)] * len(groups)
    whole = float(space.distance(np.arange(space.items), int(groups[len(groups) // 2][0])).max())
    # Lengths decide how noise is shared and decoded, never what is private: how far a level's mass is carried.
    least, ends = whole / 64.0, np.cumsum([len(group) for group in groups])
    starts = np.append(0, ends[:-1])
    single = np.arange(space.items)
    lengths = np.concatenate(
        [
            np.maximum(whole - np.array(radii), least),
            np.repeat(np.maximum(radii, least), [len(group) for group in groups]),
        ]
    )
    order = np.concatenate(groups)
    tree = nested_edges(space.items, np.concatenate([starts, single]), np.concatenate([ends, single + 1]), lengths)
    return Grouped(order, tree, lambda: _names(space, order, tree))


def _halves(group: Ids, places: Floats) -> list[Ids]:
    """The group in two along its longest side, items at one place together; the group itself where all are alike."""
    here = places[group]
    side = int(np.argmax(here.max(axis=0) - here.min(axis=0)))
    order = group[np.argsort(here[:, side], kind="stable")]
    values = places[order, side]
    if values[0] == values[-1]:
        return [group] if len(group) < 2 else [group[: len(group) // 2], group[len(group) // 2 :]]
    middle = values[len(values) // 2]
    cut = int(np.searchsorted(values, middle, side="left"))
    cut = cut or int(np.searchsorted(values, middle, side="right"))
    return [order[:cut], order[cut:]]


def _names(space: Space, order: Ids, tree: EdgeTree) -> tuple[str, ...]:
    labels, results = space.labels, []
    for start, end in zip(tree.starts.tolist(), tree.ends.tolist(), strict=True):
        first, last = labels[order[start]], labels[order[end - 1]]
        results.append(first if end == start + 1 else f"{first} to {last} ({end - start:,} items)")
    return tuple(results)
