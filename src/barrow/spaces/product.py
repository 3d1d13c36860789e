"""Products of spaces: place and time, topic and age.

The neighbourhood graph of a product is the parts' graphs at every combination of the other parts' nodes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from barrow import heavy
from barrow.errors import DataError, ParameterError, reading
from barrow.numerics import Exact, exact, exact_text, float_down
from barrow.spaces.geographic import Earth
from barrow.spaces.geometry import Geometry
from barrow.spaces.lattices import SAFE, ProductEdges, check_nodes, product_weights
from barrow.spaces.neighbours import WEIGHT_BITS, Ints, NeighbourGraph
from barrow.spaces.records import Reads
from barrow.spaces.space import Floats, Ids, Space, Unknown
from barrow.spaces.spec import space_from_spec

_MOST_ROUNDED = 4000
"""Paths between all nodes of a part are measured where its weights are rounded."""
Part = tuple[NeighbourGraph, Fraction, int, Ints]
"""A part's graph, its weight, its number of items, and the part's item of each item of the product."""


@dataclass(frozen=True, eq=False, repr=False)
class Product(Space):
    """Pairs (or longer rows) of items, with a weighted sum of the parts' normalised distances.

    Args:
        parts: The spaces.
        weights: One weight above 0 for each part; they sum to 1, so the largest distance stays 1. Equal by default.

    Records are given as one sequence of records for each part.

    >>> from barrow.spaces import Circle, Line
    >>> when_where = Product([Line(0, 10, unit="km", step=1, cells=True), Circle.hours()], weights=["3/4", "1/4"])
    >>> when_where.size, when_where.encode([[0.5, 9.5], [0, 13]]).tolist()
    (240, [0, 229])
    """

    kind: ClassVar[str] = "product"
    _unit, _diameter = "", 1.0
    parts: tuple[Space, ...]
    weights: tuple[Fraction, ...]

    def __init__(self, parts: Sequence[Space], *, weights: Sequence[Exact] | None = None) -> None:
        with reading("parts", allowed="a list of spaces", fix="Product([Line(0, 10, step=1), Discrete(['a', 'b'])])"):
            equal = [Fraction(1, max(len(parts), 1))] * len(parts)
        weights = equal if weights is None else weights
        shares = tuple(exact(w, "a weight") for w in weights)
        if len(parts) < 2 or len(shares) != len(parts) or any(w <= 0 for w in shares) or sum(shares) != 1:
            raise ParameterError(
                f"There are {len(parts)} parts with the weights {[str(w) for w in weights]}.",
                allowed="two or more parts, and a weight above 0 for each, with sum exactly 1",
                fix='weights=["1/2", "1/2"]',
            )
        if not all(isinstance(part, Space) for part in parts):
            raise ParameterError("A part is not a space.", allowed="spaces", fix="[Line(0, 1), Circle(24)]")
        vars(self).update(parts=tuple(parts), weights=shares)

    @classmethod
    def trips(cls, *, box: Sequence[float], cell: float, weights: Sequence[Exact] | None = None) -> Product:
        """Where something begins and where it ends: two places of one box on Earth.

        Args:
            box: South, west, north, east in degrees.
            cell: The width of the cells in km.
            weights: How much the begin and the end count; equally by default.

        >>> Product.trips(box=(40.5, -74.3, 41.0, -73.6), cell=20).items
        81
        """
        return cls([Earth(box=box, cell=cell), Earth(box=box, cell=cell)], weights=weights)

    @property
    def size(self) -> int | None:
        """The product of the parts' sizes; None if one of them has no grid."""
        return None if any(part.size is None for part in self.parts) else math.prod(part.items for part in self.parts)

    def _grid_fix(self) -> str:
        return next(part._grid_fix() for part in self.parts if part.size is None)

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        return tuple(part.items for part in self.parts)

    def _split(self, ids: Ids) -> tuple[Ids, ...]:
        return tuple(x.astype(np.int64) for x in np.unravel_index(ids, self._shape))

    @property
    def reads(self) -> Reads:
        """What the parts read, one after the other."""
        each = [part.reads for part in self.parts]
        return Reads(sum(x.columns for x in each), all(x.numbers for x in each), ", ".join(x.words for x in each))

    def label(self, item: int) -> str:
        """The parts' labels, joined."""
        split = self._split(np.array([item]))
        return " | ".join(part.label(int(x[0])) for part, x in zip(self.parts, split, strict=True))

    @property
    def labels(self) -> list[str]:
        """The labels of all items, in order."""
        return [" | ".join(parts) for parts in itertools.product(*(part.labels for part in self.parts))]

    @property
    def default_item(self) -> int:
        """The parts' default items."""
        return int(np.ravel_multi_index(tuple(part.default_item for part in self.parts), self._shape))

    def _distance(self, a: Ids, b: Ids) -> Floats:
        total = np.zeros(np.broadcast_shapes(a.shape, b.shape))
        for part, weight, x, y in zip(self.parts, self.weights, self._split(a), self._split(b), strict=True):
            total += float(weight) * _part_distance(part, x, y, total.size)
        return np.minimum(total, 1.0)

    def _encode(self, records: Any, unknown: Unknown) -> Ids:
        columns = list(records)
        if len(columns) != len(self.parts):
            raise DataError(
                "The records are not of the form that the space reads.",
                allowed="one sequence of records for each part of the product",
                fix="check the number of the item columns",
            )
        ids = [part._encode(column, unknown) for part, column in zip(self.parts, columns, strict=True)]
        if len({len(x) for x in ids}) > 1:
            raise DataError("The columns of the records differ in length.", fix="give columns of one table")
        lost = np.any([x < 0 for x in ids], axis=0)
        flat = np.ravel_multi_index(tuple(np.where(lost, 0, x) for x in ids), self._shape)
        return np.where(lost, -1, flat).astype(np.int64)

    @property
    def snapping_upper(self) -> float:
        """The weighted sum of what the parts' grids move."""
        total = sum(float(w) * part.snapping_upper for w, part in zip(self.weights, self.parts, strict=True))
        return float(total) * (1.0 + 2.0**-40)

    def _geometry(self) -> Geometry:
        """A weighted sum."""
        return Geometry(parts=tuple(zip(self.parts, self.weights, strict=True)))

    def _distance_error(self) -> float:
        """The largest error of a part."""
        return max(part.distance_error for part in self.parts) + 2.0**-48

    @property
    def least_distance_lower(self) -> float:
        """The least weighted distance of a part that has two items."""
        gaps = [
            float(w) * part.least_distance_lower
            for w, part in zip(self.weights, self.parts, strict=True)
            if part.items > 1
        ]
        return min(gaps, default=1.0) * (1.0 - 2.0**-40)

    def _metric_name(self) -> str:
        """The parts' metrics, each with what a unit of it counts: equal for products that differ in grids only."""
        rates = [f"{exact_text(w / Fraction(p.diameter))} {p.metric_name}" for p, w in self.geometry.parts]
        return f"{self.kind} {' + '.join(rates)}"

    def marginal(self, shares: Floats, part: int) -> Floats:
        """The histogram of one part, from one share for each item of the product.

        >>> from barrow.spaces import Discrete
        >>> both = Product([Discrete("ab"), Discrete("xy")])
        >>> both.marginal(np.array([0.1, 0.2, 0.3, 0.4]), 0).round(9).tolist()
        [0.3, 0.7]
        """
        result = np.asarray(shares, dtype=np.float64).reshape(self._shape)
        return np.asarray(result.sum(axis=tuple(i for i in range(len(self.parts)) if i != part)))

    def _graph(self, spacing: Any) -> NeighbourGraph:
        """The product of the parts' graphs: one coordinate moves at a time, each at its weight."""
        each = [None] * len(self.parts) if spacing is None else list(spacing) if np.iterable(spacing) else []
        if len(each) != len(self.parts):
            raise ParameterError(
                f"spacing is {spacing!r} for {len(self.parts)} parts.",
                allowed="None, or one spacing (or None) for each part",
                fix=f"spacing={[None] * len(self.parts)}",
            )
        rows = zip(self.parts, self.weights, each, self._split(np.arange(self.items)), strict=True)
        several = [(part, part.graph(x), w, ids) for part, w, x, ids in rows if part.items > 1]
        bits = _bits_each([graph for _, graph, _, _ in several])
        return product_graph([(rounded(part, graph, bits), w, part.items, ids) for part, graph, w, ids in several])

    def _spec(self) -> dict[str, Any]:
        return self._plain("weights", "parts")

    def _arguments(self) -> dict[str, Any]:
        return {"parts": self.parts, "weights": [exact_text(w) for w in self.weights]}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Product:
        """The space that ``spec`` describes."""
        return cls([space_from_spec(part) for part in spec["parts"]], weights=spec.get("weights"))


def _part_distance(part: Space, a: Ids, b: Ids, pairs: int) -> Floats:
    """Distances within one part; looked up where few items are far oftener asked for than there are pairs of them."""
    if pairs <= 4 * part.items or a.size > part.items:
        return part.distance(a, b)
    few, which = np.unique(a, return_inverse=True)
    if 4 * len(few) * part.items > pairs:
        return part.distance(a, b)
    return np.asarray(part.block(few)[which.reshape(a.shape), b])


def columns_of(space: Space, records: list[Any]) -> Any:
    """Records, one a person's item, in the form that ``encode`` reads: of a product one sequence for each part.

    >>> from barrow.spaces import Discrete
    >>> columns_of(Product([Discrete("ab"), Discrete("xy")]), [["a", "y"], ["b", "y"]])
    [['a', 'b'], ['y', 'y']]
    """
    parts = len(space.geometry.parts)
    if not parts:
        return records
    if any(not isinstance(record, list | tuple) or len(record) != parts for record in records):
        raise DataError(
            "Some items do not have one part for each part of the space.",
            allowed=f"lists of {parts} records",
            fix="write one list for each item",
        )
    return [[record[i] for record in records] for i in range(parts)]


def marginals(space: Space, shares: Floats) -> list[tuple[Space, Floats]]:
    """The parts of a product, each with its histogram, from one share for each item; of other spaces nothing."""
    return (
        [(part, space.marginal(shares, i)) for i, part in enumerate(space.parts)] if isinstance(space, Product) else []
    )


def product_graph(parts: Sequence[Part]) -> NeighbourGraph:
    """The graph of a weighted sum of metrics (docs/proofs/edge-noise.md, Section 3)."""
    shape = [graph.nodes for graph, _, _, _ in parts]
    check_nodes(math.prod(shape))
    net = ProductEdges.of(shape, [(graph.tails, graph.heads) for graph, _, _, _ in parts])
    lengths = net.lengths([graph.lengths * (float_down(weight) * SAFE) for graph, weight, _, _ in parts])
    faces = _faces(parts, net) if len(parts) > 1 else parts[0][0].faces
    stretch = max(graph.stretch for graph, _, _, _ in parts) * (1 + Fraction(1, 2**36))
    return NeighbourGraph(math.prod(shape), net.tails, net.heads, lengths, _weights(parts), faces, stretch)


def _weights(parts: Sequence[Part]) -> Any:
    if all(graph.weights is None and graph.nodes == items for graph, _, items, _ in parts):
        return None
    bits, rows = 0, []
    for graph, _, items, index in parts:
        needed, whole = _needed_bits(graph)
        whole = whole[:items]
        whole.data >>= WEIGHT_BITS - needed
        bits += needed
        rows.append(whole[index])
    assert bits <= WEIGHT_BITS  # by how parts are rounded  # noqa: S101
    return product_weights(rows, bits)


def _needed_bits(graph: NeighbourGraph) -> tuple[int, Any]:
    """How many bits a graph's weights have, and the weights times 2^48."""
    whole = graph.whole_weights
    common = int(np.bitwise_or.reduce(whole.data))
    return WEIGHT_BITS + 1 - (common & -common).bit_length(), whole


def _bits_each(graphs: Sequence[NeighbourGraph]) -> int:
    """To how many bits the weights of every part are rounded: products must stay whole multiples of 2^-48."""
    needed = [_needed_bits(graph)[0] for graph in graphs]
    return WEIGHT_BITS if sum(needed) <= WEIGHT_BITS else WEIGHT_BITS // sum(bits > 0 for bits in needed)


def rounded(space: Space, graph: NeighbourGraph, bits: int) -> NeighbourGraph:
    """The graph with weights of at most ``bits`` bits, and edges so much shorter that no item is farther from another.

    What is rounded off goes to the first node of an item: this moves every item by at most rho along the graph, hence
    two of them apart by at most 2 rho more, which is paid by the least distance (docs/proofs/edge-noise.md, Section 3).
    """
    needed, whole = _needed_bits(graph)
    if needed <= bits:
        return graph
    if graph.nodes > _MOST_ROUNDED:
        raise ParameterError(
            f"The nodes of several parts are apart, and one part has {graph.nodes:,} of them.",
            allowed=f"at most {_MOST_ROUNDED:,} nodes in a part, or a spacing in one part only",
            fix="a larger spacing of that part, or leave out the spacing of the others",
        )
    starts, count = whole.indptr[:-1], np.diff(whole.indptr)
    first = np.repeat(whole.indices[starts], count)
    paths = graph.distances()[first, whole.indices]  # of a node from itself: 0
    lost = whole.data & (2 ** (WEIGHT_BITS - bits) - 1)
    lost[starts] = 0
    moved = np.add.reduceat(np.ldexp(lost.astype(np.float64), -WEIGHT_BITS) * paths, starts)
    whole.data -= lost
    whole.data[starts] += np.add.reduceat(lost, starts)
    shorter = SAFE / (1.0 + 2.0 * float(moved.max()) * (1.0 + 2.0**-30) / space.least_distance_lower)
    values = np.ldexp(whole.data.astype(np.float64), -WEIGHT_BITS)
    weights = heavy.sparse.csr_array((values, whole.indices, whole.indptr), shape=whole.shape, copy=True)
    weights.eliminate_zeros()
    stretch = graph.stretch * (1 + Fraction(1 / shorter - 1.0) + Fraction(1, 2**40))
    return replace(graph, lengths=graph.lengths * shorter, weights=weights, stretch=stretch)


def _faces(parts: Sequence[Part], net: ProductEdges) -> Ints | None:
    """Squares of edges of the last two parts that have the same colour, where edges that meet differ in colour.

    For an edge of one part, the edges of the other with its colour do not meet: so no side is in two squares.
    """
    a, b = len(parts) - 2, len(parts) - 1
    first, second = parts[a][0], parts[b][0]
    colours, others = edge_colours(first), edge_colours(second)
    one, two = np.nonzero(colours[:, None] == others[None, :])
    if not one.size:
        return None
    edges = (one, first.tails[one], first.heads[one]), (two, second.tails[two], second.heads[two])
    return net.squares(a, b, *edges)


def edge_colours(graph: NeighbourGraph) -> Ints:
    """A colour for each edge such that edges with a common end differ: the first that is free at both ends."""
    used: list[set[int]] = [set() for _ in range(graph.nodes)]
    colours = []
    for a, b in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
        colour = 0
        while colour in used[a] or colour in used[b]:
            colour += 1
        used[a].add(colour)
        used[b].add(colour)
        colours.append(colour)
    return np.array(colours, dtype=np.int64)
