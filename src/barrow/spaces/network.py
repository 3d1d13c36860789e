"""Graphs with lengths: roads, rails, who knows whom; distance is the length of the shortest path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from barrow.errors import ParameterError
from barrow.spaces.checks import build, checked_unit, chosen_diameter, positive_number
from barrow.spaces.covariates import Covariates
from barrow.spaces.finite import LabelledSpace
from barrow.spaces.geometry import Geometry
from barrow.spaces.lattices import SAFE, stretch_upper
from barrow.spaces.neighbours import NeighbourGraph, Net, check_connected
from barrow.spaces.records import LabelIndex
from barrow.spaces.space import DISTANCE_ERROR, Floats, Ids, Space
from barrow.spaces.spanners import MOST_CERTIFIED

Edge = tuple[str, str, float]
_SLACK = 2.0**-40


@dataclass(frozen=True, eq=False, repr=False)
class Graph(LabelledSpace):
    """The nodes of a public graph; their distance is the length of the shortest path between them.

    Args:
        edges: (node, node, length) for every edge; a road or an acquaintance goes both ways.
        unit: What lengths are measured in.
        diameter: How many units count as 1. By default the largest distance, or for many nodes twice the largest
            distance from one in the middle, which is never too small.
        default: The node that stands in for missing data; the first by default.

    Nodes are items in the order in which edges name them. An edge that is longer than another way between its ends is
    refused: it is on no shortest path, so its length would not be a distance.

    >>> roads = Graph([("a", "b", 2), ("b", "c", 3), ("c", "d", 1), ("a", "d", 2)], unit="km")
    >>> roads.labels, roads.diameter, (roads.block()[0] * 4).round(9).tolist()
    (('a', 'b', 'c', 'd'), 4.000000000003638, [0.0, 2.0, 3.0, 2.0])
    """

    kind: ClassVar[str] = "graph"
    edges: tuple[Edge, ...]
    tails: Ids
    heads: Ids
    lengths: Floats
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
        table = _checked_edges(edges)
        self._take_labels(LabelIndex(dict.fromkeys(node for a, b, _ in table for node in (a, b))), default)
        number = self.index.known
        tails = np.array([number[a] for a, _, _ in table], dtype=np.int64)
        heads = np.array([number[b] for _, b, _ in table], dtype=np.int64)
        lengths = np.array([length for _, _, length in table])
        vars(self).update(edges=table, tails=tails, heads=heads, lengths=lengths, _unit=checked_unit(unit))
        check_connected(self.size, self.tails, self.heads, self.labels)
        self._check_lengths()
        largest = self._largest()
        but, allowed = f", but two nodes may be {largest:.12g} apart.", f"at least {np.nextafter(largest, np.inf):.17g}"
        vars(self).update(_diameter=chosen_diameter(diameter, largest, but, allowed))

    def _check_lengths(self) -> None:
        """No edge may be longer than another way: over any nodes in a small graph, over one node in a large one."""
        small = self.size <= MOST_CERTIFIED
        shortest = self._paths[self.tails, self.heads] if small else self._over_one_node()
        longer = np.flatnonzero(self.lengths > shortest * (1.0 + _SLACK))
        if longer.size:
            a, b, length = self.edges[int(longer[0])]
            raise ParameterError(
                f"The edge from {a!r} to {b!r} is {length:g} long, but another way between them only "
                f"{shortest[longer[0]]:.12g}: its length is no distance.",
                allowed="edges that are no longer than any other way between their ends",
                fix="drop the edge, or give it the length of the shorter way",
            )

    def _over_one_node(self) -> Floats:
        """For each edge the shorter of itself and of the ways between its ends over one other node."""
        best = self.lengths.copy()
        near: list[dict[int, float]] = [{} for _ in range(self.size)]
        for a, b, length in zip(self.tails.tolist(), self.heads.tolist(), self.lengths.tolist(), strict=True):
            near[a][b] = near[b][a] = length
        for e, (a, b) in enumerate(zip(self.tails.tolist(), self.heads.tolist(), strict=True)):
            few, many = sorted((near[a], near[b]), key=len)
            best[e] = min([best[e], *(x + many[c] for c, x in few.items() if c in many)])
        return best

    @cached_property
    def _net(self) -> Net:
        return Net(self.size, self.tails, self.heads, self.lengths)

    @cached_property
    def _paths(self) -> Floats:
        """All shortest paths, in units, the same both ways."""
        result = self._net.distances()
        return np.minimum(result, result.T)

    def _largest(self) -> float:
        if self.size <= MOST_CERTIFIED:
            return float(self._paths.max()) * (1.0 + _SLACK)
        # From one end of a long path to the other; the node halfway sees everything within about half of it.
        first = int(np.argmax(self._net.distances([0])[0]))
        there = self._net.distances([first])[0]
        back = self._net.distances([int(np.argmax(there))])[0]
        middle = int(np.argmin(np.maximum(there, back)))
        return 2.0 * float(self._net.distances([middle])[0].max()) * (1.0 + _SLACK)

    def _geometry(self) -> Geometry:
        """Its edges: distances are shortest paths along them."""
        return Geometry(paths=(self.tails, self.heads, self.lengths / self._diameter))

    def _distance(self, a: Ids, b: Ids) -> Floats:
        if self.size <= MOST_CERTIFIED:
            return np.asarray(self._paths[a, b] / self._diameter)
        a, b = np.broadcast_arrays(a, b)
        if len(np.unique(b)) < len(np.unique(a)):
            a, b = b, a
        starts, which = np.unique(a, return_inverse=True)
        result = np.zeros(a.shape)
        step = max(1, 2**24 // self.size)
        for begin in range(0, len(starts), step):
            rows = self._net.distances(starts[begin : begin + step])
            here = (which.reshape(a.shape) >= begin) & (which.reshape(a.shape) < begin + step)
            result[here] = rows[which.reshape(a.shape)[here] - begin, b[here]]
        return result / self._diameter

    def block(self, rows: ArrayLike | None = None, columns: ArrayLike | None = None) -> Floats:
        """The matrix of distances between ``rows`` and ``columns``: one search from each row."""
        if self.size <= MOST_CERTIFIED:
            return super().block(rows, columns)
        starts = np.arange(self.size) if rows is None else self._ids(rows)
        result = self._net.distances(starts)
        return np.asarray(result if columns is None else result[:, self._ids(columns)]) / self._diameter

    def _distance_error(self) -> float:
        """A path's length is a sum of at most as many lengths as there are nodes."""
        return max(DISTANCE_ERROR, (self.size + 4) * 2.0**-52)

    @cached_property
    def least_distance_lower(self) -> float:
        """The shortest edge, rounded down."""
        return float(self.lengths.min() / self._diameter) * (1.0 - DISTANCE_ERROR)

    def _graph(self, spacing: Any) -> NeighbourGraph:
        """The graph itself: its paths are the space's distances."""
        self._no_spacing(spacing)
        lengths = self.lengths / self._diameter * SAFE
        return NeighbourGraph(self.size, self.tails, self.heads, lengths, stretch=stretch_upper(1))

    def _spec(self) -> dict[str, Any]:
        return self._plain("edges", "unit", "diameter", "default")

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Space:
        """The space that ``spec`` describes; without edges, the nodes with covariates that had this name first."""
        rest = dict(spec)
        if "edges" not in rest and ("vectors" in rest or "covariates" in rest):
            return Covariates.from_spec(rest)
        return build(cls, [tuple(edge) for edge in rest.pop("edges")], **rest)


def _checked_edges(edges: Any) -> tuple[Edge, ...]:
    """Edges as (node, node, length), with different ends, lengths above 0, and none twice."""
    try:
        rows = [(a, b, length) for a, b, length in edges]
    except (TypeError, ValueError):
        raise ParameterError(
            "The edges cannot be read.", allowed="(node, node, length) rows", fix='Graph([("a", "b", 2.5)])'
        ) from None
    if not rows:
        raise ParameterError("The graph has no edges.", allowed="(node, node, length) rows", fix='[("a", "b", 2.5)]')
    seen: set[frozenset[str]] = set()
    table = []
    for a, b, length in rows:
        if a == b:
            raise ParameterError(
                f"An edge leads from {a!r} to itself.", allowed="edges between different nodes", fix="drop it"
            )
        ends = frozenset((a, b))
        if ends in seen:
            raise ParameterError(
                f"The edge between {a!r} and {b!r} is given twice.",
                allowed="one edge for each pair of nodes, in either order",
                fix="keep the shorter one",
            )
        seen.add(ends)
        table.append((a, b, positive_number(length, f"the length of the edge from {a!r} to {b!r}", fix="a length > 0")))
    return tuple(table)
