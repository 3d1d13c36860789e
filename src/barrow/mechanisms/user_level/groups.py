"""A public tree of two levels over any space: groups of items that are near each other, and the items in them.

A flat histogram adds up the mass of a neighbourhood from many noisy entries; noise on whole groups beside noise on
single items errs less where there are many of them. Any groups are as private: they are made from the space alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from barrow.errors import ParameterError
from barrow.spaces import EdgeTree, Space
from barrow.spaces.base import Floats, Ids
from barrow.spaces.edges import nested_edges

LEAST_ITEMS, MOST_ITEMS = 16, 200_000
"""Fewer items need no groups; more would take minutes to decode."""
MOST_MEASURED = 256
"""So many groups are measured at most, each from its middle."""


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
    places, count = space.coordinates, 2 ** math.ceil(math.log2(space.items) / 2.0 - 1e-9)
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
        radii = [float(np.median(radii))] * len(groups)
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
    labels, found = space.labels, []
    for start, end in zip(tree.starts.tolist(), tree.ends.tolist(), strict=True):
        first, last = labels[order[start]], labels[order[end - 1]]
        found.append(first if end == start + 1 else f"{first} to {last} ({end - start:,} items)")
    return tuple(found)
