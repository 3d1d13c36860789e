"""Trees: any weighted tree whose leaves are the items, or nested categories such as country > city > place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from barrow.errors import ParameterError, reading
from barrow.spaces.checks import build, checked_unit, positive_number
from barrow.spaces.finite import LabelledSpace
from barrow.spaces.geometry import Geometry, TreeEdges, masses_below
from barrow.spaces.records import LabelIndex
from barrow.spaces.space import DISTANCE_ERROR, Floats, Ids

Edge = tuple[str, str, float]


@dataclass(frozen=True, eq=False, repr=False)
class Tree(LabelledSpace):
    """A weighted tree; the items are its leaves, and distance is the length of the path between them.

    Args:
        edges: (child, parent, length) for every node but the root.
        unit: What lengths are measured in.
        diameter: How many units count as 1; the longest path between leaves by default.
        default: The leaf that stands in for missing data; the first by default.

    >>> tree = Tree([("a", "left", 1), ("b", "left", 1), ("left", "root", 2), ("c", "root", 3)])
    >>> tree.labels, (tree.block()[0] * tree.diameter).tolist()
    (('a', 'b', 'c'), [0.0, 2.0, 6.0])
    """

    kind: ClassVar[str] = "tree"
    edges: tuple[Edge, ...]
    starts: Ids
    ends: Ids
    lengths: Floats
    _depth: Floats
    _meets: Floats
    _unit: str
    _diameter: float

    def __init__(
        self,
        edges: Sequence[Edge],
        *,
        unit: str = "",
        diameter: float | None = None,
        default: str | None = None,
    ) -> None:
        with reading("edges", allowed="(child, parent, length) for each edge", fix="Tree([('a', 'all', 1), …])"):
            table = tuple((str(c), str(p), positive_number(length, f"the length of {c!r}")) for c, p, length in edges)
        children, root = _children(table)
        leaves, spans, depth, meets = _walk(children, root)
        self._take_labels(LabelIndex(leaves), default)
        # One edge above every node but the root: the mass below it is the mass of leaves start .. end-1.
        starts, ends = (np.array([spans[c][side] for c, _, _ in table]) for side in (0, 1))
        lengths = np.array([length for _, _, length in table])
        vars(self).update(edges=table, starts=starts, ends=ends, lengths=lengths)
        vars(self).update(_depth=np.array(depth), _meets=np.array(meets), _unit=checked_unit(unit))
        longest = _longest_path(children, root) * (1.0 + 2.0**-45) if len(leaves) > 1 else 1.0
        chosen = longest if diameter is None else positive_number(diameter, "diameter")
        if chosen < longest * (1.0 - 2.0**-40):
            raise ParameterError(
                f"diameter is {diameter}, but two leaves are {longest:.12g} apart.",
                allowed=f"at least {longest:.12g}",
                fix="leave diameter out",
            )
        vars(self).update(_diameter=chosen)

    @classmethod
    def nested(
        cls,
        paths: Sequence[str],
        *,
        distances: Sequence[float],
        separator: str = "/",
        unit: str = "",
        default: str | None = None,
    ) -> Tree:
        """Nested categories: two items whose paths first differ at level j (from 0) are ``distances[j]`` apart.

        Args:
            paths: One path for each item, all of the same depth, e.g. ``"US/NY/JFK"``.
            distances: Decreasing distances, one for each level.
            separator: What stands between the levels.
            unit: What distances are measured in.
            default: The path that stands in for missing data.

        >>> places = Tree.nested(["US/NY", "US/LA", "FR/Paris"], distances=[1, 0.25])
        >>> [round(x, 9) for x in places.distance(0, [1, 2])]
        [np.float64(0.25), np.float64(1.0)]
        """
        split = [tuple(path.split(separator)) for path in paths]
        steps = [positive_number(d, "a distance") for d in distances]
        if any(b >= a for a, b in pairwise(steps)):
            raise ParameterError(
                f"distances are {list(distances)}.",
                allowed="strictly decreasing numbers",
                fix="distances=[1, 0.25]",
            )
        wrong = next(
            (p for p, parts in zip(paths, split, strict=True) if len(parts) != len(steps) or "" in parts),
            None,
        )
        if wrong is not None:
            raise ParameterError(
                f"The path {wrong!r} does not have {len(steps)} levels.",
                allowed=f"{len(steps)} parts between {separator!r}, as many as distances",
                fix="pad the path, or give one distance for each level",
            )
        half = [(a - b) / 2.0 for a, b in zip(steps, [*steps[1:], 0.0], strict=True)]
        edges: dict[str, Edge] = {}
        for parts in split:
            for level in range(len(parts)):
                child = separator.join(parts[: level + 1])
                parent = separator.join(parts[:level]) if level else separator
                edges.setdefault(child, (child, parent, half[level]))
        if len({*paths}) != len(paths):
            LabelIndex(paths, "paths")
        return cls(list(edges.values()), unit=unit, default=default)

    def _geometry(self) -> Geometry:
        """One edge above every node but the root."""
        scale, lengths = Fraction(self._diameter), self.lengths
        tree = TreeEdges(
            self.starts,
            self.ends,
            lengths / self._diameter,
            lambda: [Fraction(length) / scale for length in lengths.tolist()],
            self._names,
        )
        return Geometry(tree=tree, randomisers=("tree", "exponential"), flow=self._flow)

    def _names(self) -> dict[tuple[int, int], str]:
        """Of nodes with the same items the lowest gives its name: later ones replace those that are above them."""
        names: dict[tuple[int, int], str] = {}
        for (child, above, _), a, b in zip(self.edges, self.starts.tolist(), self.ends.tolist(), strict=True):
            if names.get((a, b), above) == above:
                names[a, b] = child
        return names

    def _flow(self, difference: Floats) -> Floats:
        """sum_e len(e) |mass of d below e|, divided once at the end: leaves below an edge are consecutive."""
        below = masses_below(difference, self.starts, self.ends)
        return np.asarray(np.abs(below, out=below).dot(self.lengths) / self._diameter)

    @cached_property
    def _least_meets(self) -> list[Floats]:
        """Sparse table: level j holds, at i, the least of 2^j consecutive meeting depths from i on."""
        table = [self._meets]
        width = 1
        while 2 * width <= len(self._meets):
            last = table[-1]
            table.append(np.minimum(last[:-width], last[width:]))
            width *= 2
        return table

    def _distance(self, a: Ids, b: Ids) -> Floats:
        a, b = np.broadcast_arrays(a, b)
        if a.ndim == 0:
            return np.asarray(self._distance(a[None], b[None])[0])
        low, high = np.minimum(a, b), np.maximum(a, b)
        gap = high - low
        meet = self._depth[low].copy()
        level = np.where(gap > 0, np.frexp(np.maximum(gap, 1))[1] - 1, -1)
        for j, table in enumerate(self._least_meets):
            here = level == j
            if here.any():
                meet[here] = np.minimum(table[low[here]], table[high[here] - 2**j])
        apart = (self._depth[a] - meet) + (self._depth[b] - meet)
        return np.where(gap > 0, np.minimum(apart / self._diameter, 1.0), 0.0)

    def _distance_error(self) -> float:
        """Depths are sums of up to h lengths, and a short distance is a small difference of large depths."""
        children, root = _children(self.edges)
        hops, level = 0, [root]
        while level := [child for node in level for child, _ in children.get(node, ())]:
            hops += 1
        return float(max(DISTANCE_ERROR, 4.0 * (hops + 2) * 2.0**-53 * self._depth.max() / self._shortest))

    @cached_property
    def _shortest(self) -> float:
        children, root = _children(self.edges)
        pairs = [sum(sorted(arms)[:2]) for _, arms in _arms(children, root, longest=False) if len(arms) > 1]
        return min(pairs, default=self._diameter)

    @cached_property
    def least_distance_lower(self) -> float:
        """The least distance: the two shortest ways down to leaves from the node where they part."""
        return min(1.0, self._shortest / self._diameter) * (1.0 - DISTANCE_ERROR)

    def _spec(self) -> dict[str, Any]:
        return self._plain("edges", "unit", "diameter", "default")

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Tree:
        """The space that ``spec`` describes; ``paths`` and ``distances`` may stand for nested categories."""
        rest = dict(spec)
        if "paths" in rest:
            return cls.nested(**rest)
        return build(cls, [tuple(edge) for edge in rest.pop("edges")], **rest)


def _children(edges: Sequence[Edge]) -> tuple[dict[str, list[tuple[str, float]]], str]:
    """Children of each node in the order given, and the root; a wrong tree is refused by name."""
    if not edges:
        raise ParameterError("The tree has no edges.", allowed="(child, parent, length) rows", fix="[('a', 'root', 1)]")
    children: dict[str, list[tuple[str, float]]] = {}
    parent: dict[str, str] = {}
    for child, above, length in edges:
        if child in parent:
            raise ParameterError(
                f"The node {child!r} has two parents, {parent[child]!r} and {above!r}.",
                allowed="one parent for each node",
                fix="rename one of the nodes",
            )
        parent[child] = above
        children.setdefault(above, []).append((child, length))
    roots = [node for node in children if node not in parent]
    if len(roots) != 1:
        problem = f"has the roots {roots[:3]}" if roots else "has no root: its edges go in a circle"
        raise ParameterError(f"The tree {problem}.", allowed="exactly one root", fix="join them under one node")
    reached, stack = 0, [roots[0]]
    while stack:
        node = stack.pop()
        reached += 1
        stack.extend(child for child, _ in children.get(node, ()))
    if reached != len(parent) + 1:
        lost = next(node for node in parent if not _reaches(node, parent, roots[0]))
        raise ParameterError(
            f"The node {lost!r} is on a cycle of edges.",
            allowed="a tree: no circles",
            fix="remove one of its edges",
        )
    return children, roots[0]


def _reaches(node: str, parent: Mapping[str, str], root: str) -> bool:
    seen = set()
    while node in parent and node not in seen:
        seen.add(node)
        node = parent[node]
    return node == root


def _walk(
    children: Mapping[str, list[tuple[str, float]]], root: str
) -> tuple[list[str], dict[str, tuple[int, int]], list[float], list[float]]:
    """Depth-first: leaves in order, the span of leaves below each node, leaf depths, where neighbours part.

    Leaf i and leaf i+1 part at the shallowest parent of the nodes entered between them; two leaves further apart
    part at the least of these depths in between.
    """
    leaves: list[str] = []
    spans: dict[str, tuple[int, int]] = {}
    depth: list[float] = []
    parts: list[float] = []
    shallowest = np.inf
    stack: list[tuple[str, float, float | None]] = [(root, 0.0, 0.0)]
    while stack:
        node, height, above = stack.pop()
        if above is None:  # all below this node has been visited
            spans[node] = (spans[node][0], len(leaves))
            continue
        shallowest = min(shallowest, above)
        if node in children:
            spans[node] = (len(leaves), -1)
            stack.append((node, height, None))
            stack.extend((child, height + length, height) for child, length in reversed(children[node]))
        else:
            spans[node] = (len(leaves), len(leaves) + 1)
            leaves.append(node)
            depth.append(height)
            parts.append(shallowest)
            shallowest = np.inf
    return leaves, spans, depth, parts[1:]


def _arms(
    children: Mapping[str, list[tuple[str, float]]], root: str, *, longest: bool
) -> list[tuple[str, list[float]]]:
    """For each inner node, bottom up: the longest (or shortest) way down to a leaf through each child."""
    order, stack = [], [root]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(child for child, _ in children.get(node, ()))
    best: dict[str, float] = {}
    arms: list[tuple[str, list[float]]] = []
    for node in reversed(order):
        below = [length + best[child] for child, length in children.get(node, ())]
        best[node] = (max(below) if longest else min(below)) if below else 0.0
        if below:
            arms.append((node, below))
    return arms


def _longest_path(children: Mapping[str, list[tuple[str, float]]], root: str) -> float:
    return max(sum(sorted(arms)[-2:]) for _, arms in _arms(children, root, longest=True) if len(arms) > 1)
