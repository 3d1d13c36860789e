"""The tree behind a space: its branching points, what lies below each, and how near leaves part there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from barrow.errors import ParameterError
from barrow.spaces import Space

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Shape:
    """A rooted tree over the items, without nodes of a single child; parents come before their children.

    Attributes:
        starts: The first item below each node.
        ends: The item after the last one below it.
        parents: The number of the node above; -1 for the root, which is node 0.
        depths: The normalised length of the way from the root, exact.
        true_metric: Whether path lengths are the space's distances, or only lower bounds on them.
    """

    starts: Integers
    ends: Integers
    parents: Integers
    depths: tuple[Fraction, ...]
    true_metric: bool = True

    @cached_property
    def widths(self) -> Integers:
        """How many items are below each node."""
        return self.ends - self.starts

    @cached_property
    def leaves(self) -> Integers:
        """The node of each item."""
        result = np.zeros(int(self.ends[0]), dtype=np.int64)
        single = np.flatnonzero(self.widths == 1)
        result[self.starts[single]] = single
        return result

    def paths(self) -> Integers:
        """Level by level from the root, the node on the way to each item; -1 below its leaf."""
        level = np.zeros(len(self.parents), dtype=np.int64)
        for v in range(1, len(self.parents)):
            level[v] = level[self.parents[v]] + 1
        table = np.full((int(level.max()) + 1, int(self.ends[0])), -1, dtype=np.int64)
        for v in range(len(self.parents)):
            table[level[v], self.starts[v] : self.ends[v]] = v
        return table

    @cached_property
    def partings(self) -> tuple[list[Fraction], dict[tuple[int, int], Fraction]]:
        """How near leaves part: the least distance at each node, and from below each child to outside it.

        The second maps (node, child) to the shortest way from the node down to a leaf that is not below the child.
        """
        count = len(self.parents)
        down: list[Fraction] = [Fraction(0)] * count
        children: list[list[int]] = [[] for _ in range(count)]
        for v in range(1, count):
            children[int(self.parents[v])].append(v)
        for v in range(count - 1, -1, -1):
            if children[v]:
                down[v] = min(self.depths[c] - self.depths[v] + down[c] for c in children[v])
        least: list[Fraction] = [Fraction(0)] * count
        outside: dict[tuple[int, int], Fraction] = {}
        for v in range(count):
            arms = sorted((self.depths[c] - self.depths[v] + down[c], c) for c in children[v])
            if not arms:
                continue
            least[v] = arms[0][0] + arms[1][0]
            for _, c in arms:
                outside[v, c] = arms[1][0] if c == arms[0][1] else arms[0][0]
        return least, outside


def tree_shape(space: Space) -> Shape:
    """The tree of a clustered, tree or discrete space."""
    tree = space.geometry.tree
    if tree is None:
        raise ParameterError(
            f"The space is {space.kind!r}, which is no tree.",
            allowed="clustered, tree or discrete",
            fix="exponential(space, alpha0), which works on every finite space",
        )
    return _shape(
        list(zip(tree.starts.tolist(), tree.ends.tolist(), tree.exact_lengths, strict=True)),
        space.items,
    )


def star_shape(items: int, arm: Fraction, *, true_metric: bool = True) -> Shape:
    """All items right below the root."""
    return replace(_shape([(x, x + 1, arm) for x in range(items)], items), true_metric=true_metric)


def _shape(edges: list[tuple[int, int, Fraction]], items: int) -> Shape:
    """From (start, end, length) of the edge above each node; nodes with the same items below are one node."""
    # Of two edges with the same span the one listed first may be above or below: their lengths add up either way.
    lengths: dict[tuple[int, int], Fraction] = {}
    for start, end, length in edges:
        key = (int(start), -int(end))
        lengths[key] = lengths.get(key, Fraction(0)) + length
    lengths.setdefault((0, -items), Fraction(0))
    nodes = sorted(lengths)
    parents: list[int] = []
    depths: list[Fraction] = []
    stack: list[int] = []
    for v, (start, end) in enumerate(nodes):
        while stack and -nodes[stack[-1]][1] <= start:
            stack.pop()
        parents.append(stack[-1] if stack else -1)
        # What is above the root is on nobody's way to anybody.
        depths.append(depths[stack[-1]] + lengths[start, end] if stack else Fraction(0))
        stack.append(v)
    return Shape(
        np.array([a for a, _ in nodes], dtype=np.int64),
        np.array([-b for _, b in nodes], dtype=np.int64),
        np.array(parents, dtype=np.int64),
        tuple(depths),
    )
