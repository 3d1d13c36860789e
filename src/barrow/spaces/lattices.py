"""Neighbourhood graphs of spaces with coordinates: grids of nodes, and items carried by piecewise linear weights.

Along one axis an item between two nodes is carried by both, by where it lies between them; with several axes weights
are multiplied. Weights are rounded to dyadic numbers and stay in the order of the items, and the lengths of edges are
made so much shorter that no step between neighbouring items costs more than it is long: the rounding is paid exactly,
and the contraction condition holds to the letter (docs/proofs/edge-noise.md, Section 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from barrow import heavy
from barrow.errors import ParameterError
from barrow.spaces.checks import positive_number
from barrow.spaces.neighbours import WEIGHT_BITS, Floats, Ints, NeighbourGraph

SAFE = 1.0 - 2.0**-40
"""Lengths are multiplied by it: more than all roundings of floats, here and in a space's distances, can add."""
_FEWEST_BITS = 8
_MOST_NODES = 2 * 10**7
_SAME = 2.0**-36


@dataclass(frozen=True, eq=False)
class Axis:
    """Where items lie among the nodes of one axis.

    Attributes:
        nodes: How many nodes.
        gaps: The lengths of the edges between neighbouring nodes, safely rounded; one more than needed on a circle.
        places: The position of each point among the nodes, in units of 2^-bits of a gap.
        bits: See ``places``.
    """

    nodes: int
    gaps: Floats
    places: Ints
    bits: int

    @property
    def closed(self) -> bool:
        """Whether the last node is a neighbour of the first."""
        return len(self.gaps) == self.nodes and self.nodes > 1

    def weights(self, items: Ints) -> Any:
        """(items, nodes): what each node carries of the points ``items``, as integers with sum 2^bits."""
        first, share = self.places[items] >> self.bits, self.places[items] & (2**self.bits - 1)
        rows = np.arange(len(items))
        ends = np.concatenate([first, (first + 1) % max(self.nodes, 1)])
        data = np.concatenate([2**self.bits - share, share])
        positive = data > 0
        shape = (len(items), self.nodes)
        return heavy.sparse.csr_array(
            (data[positive], (np.concatenate([rows, rows])[positive], ends[positive])), shape=shape
        )


def intervals(extent: float, spacing: float | None, points: int) -> int:
    """Into how many gaps of at most ``spacing`` an axis is cut: one less than its points where that is no coarser."""
    if spacing is None or points == 1:
        return points - 1
    return min(points - 1, max(1, math.ceil(extent / spacing - 1e-9)))


def line_axis(points: Floats, spacing: float | None, bits: int, *, cosines: bool = False) -> Axis:
    """The axis of strictly increasing ``points``: themselves as nodes, or nodes at equal gaps of at most ``spacing``.

    Args:
        points: Positions.
        spacing: The widest gap between nodes; None for the points themselves.
        bits: Weights are multiples of 2^-bits.
        cosines: The points are latitudes: weights are rounded towards the node with the smaller cosine.
    """
    count = len(points)
    gaps = intervals(float(points[-1] - points[0]), spacing, count)
    steps = np.diff(points)
    if gaps == count - 1:
        if count > 1 and steps.max() <= steps.min() * (1.0 + _SAME):
            steps = np.full(count - 1, steps.min())  # equal but for rounding
        return Axis(count, steps * SAFE, np.arange(count) << bits, bits)
    width = float(points[-1] - points[0]) / gaps
    exact = np.ldexp((points - points[0]) / width, bits)
    if cosines:
        nodes = np.abs(points[0] + width * np.arange(gaps + 1))
        north = np.append(nodes[1:] > nodes[:-1], True)[np.minimum(exact.astype(np.int64) >> bits, gaps)]
        places = np.where(north, np.ceil(exact + 2.0**-8), np.floor(exact - 2.0**-8))
    else:
        # Points that differ by rounding alone are carried alike, or the step between them would be costly.
        same = np.append(False, steps < (points[-1] - points[0]) * _SAME)
        leader = np.maximum.accumulate(np.where(same, 0, np.arange(count)))
        places = np.rint(exact)[leader]
    places = np.clip(places, 0, gaps << bits)
    places[0], places[-1] = 0, gaps << bits
    places = np.maximum.accumulate(places.astype(np.int64))
    return Axis(gaps + 1, np.full(gaps, _affordable(steps, np.diff(places), width, bits)), places, bits)


def circle_axis(count: int, gaps: int, bits: int) -> Axis:
    """The axis of ``count`` equally spaced points round a circle of circumference 2, with ``gaps`` nodes."""
    step = 2.0 / count
    if gaps >= count or count < 4:
        closing = count if count > 2 else count - 1  # two points have one edge between them, not two
        return Axis(count, np.full(closing, step * SAFE), np.arange(count) << bits, bits)
    around = max(gaps, 3)
    places = np.array([(2 * i * (around << bits) + count) // (2 * count) for i in range(count)], dtype=np.int64)
    whole = np.diff(np.append(places, around << bits))
    return Axis(around, np.full(around, _affordable(np.full(count, step), whole, 2.0 / around, bits)), places, bits)


def _affordable(steps: Floats, moved: Ints, width: float, bits: int) -> float:
    """The longest gap between nodes for which no step between neighbouring points costs more than it is long."""
    costly = moved > 0
    return float(min(width, np.ldexp(steps[costly] / moved[costly], bits).min())) * SAFE


def bits_for(axes: int) -> int:
    """Bits of the weights along each of several axes, whose products stay exact."""
    bits = min(30, WEIGHT_BITS // max(axes, 1))  # positions among 2^32 nodes still fit 64 bits
    if bits < _FEWEST_BITS:
        raise ParameterError(
            f"Nodes in {axes} dimensions at a distance would carry items too coarsely.",
            allowed=f"a spacing in at most {WEIGHT_BITS // _FEWEST_BITS} dimensions",
            fix="leave spacing out",
        )
    return bits


def checked_spacing(spacing: float | None, unit: str) -> float | None:
    """``spacing`` as a number above 0 or None."""
    if spacing is None:
        return None
    return positive_number(spacing, "spacing", fix=f"spacing=1.0 {unit}".rstrip())


@dataclass(frozen=True, eq=False)
class ProductEdges:
    """The edges of a product of graphs: along one of them at a time, at every combination of the others' nodes.

    Attributes:
        tails: One end of each edge, axis after axis.
        heads: The other.
        numbers: For each axis, the numbers of its edges, placed as they are among the nodes of the other axes.
    """

    tails: Ints
    heads: Ints
    numbers: tuple[Ints, ...]

    @classmethod
    def of(cls, shape: Sequence[int], ends: Sequence[tuple[Ints, Ints]]) -> ProductEdges:
        """Of graphs with so many nodes each, and these tails and heads; nodes are numbered row by row."""
        ids = np.arange(math.prod(shape), dtype=np.int64).reshape(tuple(shape))
        tails, heads = ([ids.take(rows[side], axis) for axis, rows in enumerate(ends)] for side in (0, 1))
        starts = np.cumsum([0, *(each.size for each in tails)])
        numbers = tuple(np.arange(each.size).reshape(each.shape) + at for at, each in zip(starts, tails, strict=False))
        flat = [np.concatenate([each.ravel() for each in side]) for side in (tails, heads)]
        return cls(flat[0], flat[1], numbers)

    def lengths(self, along: Sequence[Floats]) -> Floats:
        """The length of every edge, from those of the edges of each graph."""
        each = []
        for axis, (values, numbers) in enumerate(zip(along, self.numbers, strict=True)):
            column = values.reshape([-1 if i == axis else 1 for i in range(numbers.ndim)])
            each.append(np.broadcast_to(column, numbers.shape).ravel())
        return np.concatenate(each)

    def squares(self, a: int, b: int, one: tuple[Ints, Ints, Ints], two: tuple[Ints, Ints, Ints]) -> Ints:
        """Cycles of four: an edge of axis ``a`` times one of axis ``b``, each given with its tail and its head."""
        along, across = (np.moveaxis(self.numbers[axis], (a, b), (-2, -1)) for axis in (a, b))
        (edge, tail, head), (other, start, end) = one, two
        sides = along[..., edge, start], across[..., head, other], along[..., edge, end], across[..., tail, other]
        return np.stack([np.asarray(x).ravel() for x in sides], axis=1).astype(np.int64)


def check_nodes(count: int) -> None:
    """Refuses a graph of too many nodes."""
    if count > _MOST_NODES:
        raise ParameterError(
            f"The graph would have {count:,} nodes.", allowed=f"at most {_MOST_NODES:,}", fix="a larger spacing"
        )


def lattice(shape: Sequence[int], closed: Sequence[bool]) -> tuple[ProductEdges, Ints | None]:
    """The grid of ``shape`` nodes, closed to a circle along the axes that are ``closed``.

    Also every other square of the last two axes that have more than one node, if there are any.
    """
    check_nodes(math.prod(shape))
    each = [np.arange(count if around else count - 1) for count, around in zip(shape, closed, strict=True)]
    net = ProductEdges.of(shape, [(here, (here + 1) % count) for here, count in zip(each, shape, strict=True)])
    many = [axis for axis, count in enumerate(shape) if count > 1]
    faces = _black_faces(net, many[-2], many[-1], shape, closed) if len(many) >= 2 else None
    return net, faces if faces is not None and len(faces) else None


def _black_faces(net: ProductEdges, a: int, b: int, shape: Sequence[int], closed: Sequence[bool]) -> Ints:
    """The squares of axes ``a`` and ``b`` with an even sum of coordinates: every inner edge is in exactly one."""

    def starts(axis: int) -> int:
        # Round a circle with an odd number of nodes colours do not close: the last squares are left out.
        return shape[axis] if closed[axis] and shape[axis] % 2 == 0 else shape[axis] - 1

    i, j = (x.ravel() for x in np.meshgrid(np.arange(starts(a)), np.arange(starts(b)), indexing="ij"))
    black = (i + j) % 2 == 0
    i, j = i[black], j[black]
    return net.squares(a, b, (i, i, (i + 1) % shape[a]), (j, j, (j + 1) % shape[b]))


def stretch_upper(squared: int) -> Fraction:
    """The square root of ``squared``, with room for every rounding of lengths."""
    return Fraction(math.sqrt(squared)) * (1 + Fraction(1, 2**36))


def grid_graph(axes: Sequence[Axis], factors: Sequence[float], index: Sequence[Ints]) -> NeighbourGraph:
    """The graph of a grid: edges along axis i are its gaps times ``factors[i]``; item k lies at ``index[i][k]``.

    Factors are 1/sqrt(k) of the unit for k axes, so that no path is shorter than 1/sqrt(k) of the distance.
    """
    shape = [axis.nodes for axis in axes]
    net, faces = lattice(shape, [axis.closed for axis in axes])
    lengths = net.lengths([axis.gaps * (factor * SAFE) for axis, factor in zip(axes, factors, strict=True)])
    stretch = stretch_upper(max(1, sum(count > 1 for count in shape)))
    weights = grid_weights(axes, index)
    return NeighbourGraph(math.prod(shape), net.tails, net.heads, lengths, weights, faces, stretch)


def grid_weights(axes: Sequence[Axis], index: Sequence[Ints]) -> Any:
    """The weights of items on a grid of nodes; None where item k is node k."""
    places = [axis.places[np.asarray(rows)] for axis, rows in zip(axes, index, strict=True)]
    nodes = math.prod(axis.nodes for axis in axes)
    if len(places[0]) == nodes and all(
        not (p & (2**axis.bits - 1)).any() for p, axis in zip(places, axes, strict=True)
    ):
        at = np.ravel_multi_index(
            tuple(p >> axis.bits for p, axis in zip(places, axes, strict=True)), [axis.nodes for axis in axes]
        )
        if (at == np.arange(nodes)).all():
            return None
    whole = [axis.weights(np.asarray(rows)) for axis, rows in zip(axes, index, strict=True)]
    return product_weights(whole, sum(axis.bits for axis in axes))


def product_weights(whole: Sequence[Any], bits: int) -> Any:
    """The products of the weights of several axes or parts, given times powers of 2 that make 2^bits together."""
    weights = reduce(rows_product, whole).astype(np.float64)
    weights.data = np.ldexp(weights.data, -bits)
    return weights


def rows_product(left: Any, right: Any) -> Any:
    """Row by row, the products of all entries of two sparse arrays: columns (a, b) are numbered a * width + b."""
    left, right = left.tocsr(), right.tocsr()
    a, b = np.diff(left.indptr), np.diff(right.indptr)
    each = a * b
    rows = np.repeat(np.arange(len(a)), each)
    within = np.arange(int(each.sum())) - np.repeat(np.cumsum(each) - each, each)
    first = left.indptr[rows] + within // b[rows]
    second = right.indptr[rows] + within % b[rows]
    data = left.data[first] * right.data[second]
    columns = left.indices[first].astype(np.int64) * right.shape[1] + right.indices[second]
    return heavy.sparse.csr_array((data, (rows, columns)), shape=(left.shape[0], left.shape[1] * right.shape[1]))


def rounded_points(points: Floats, spacing: float, least: float, bits: int) -> tuple[list[Axis], list[Ints], float]:
    """Axes for points anywhere in a box, with positions rounded to dyadic ones, and what lengths must be divided by.

    Rounding moves two points apart by at most its own size, which is small against the least distance of points.
    """
    axes, index, moved = [], [], 0.0
    for column in points.T:
        axis, width = rounded_axis(column, spacing, bits)
        axes.append(axis)
        index.append(np.arange(len(points)))
        moved += (width * 2.0**-bits) ** 2
    return axes, index, 1.0 + 2.0 * math.sqrt(moved) / least


def rounded_axis(values: Floats, spacing: float, bits: int) -> tuple[Axis, float]:
    """The axis of values in any order, rounded to multiples of 2^-bits of a gap, and the gap.

    Values move by half such a unit; another half is kept for the floats in between.
    """
    low, extent = float(values.min()), float(np.ptp(values))
    gaps = max(1, math.ceil(extent / spacing - 1e-9)) if extent > 0.0 else 0
    width = extent / gaps if gaps else 1.0
    places = np.clip(np.rint(np.ldexp((values - low) / width, bits)), 0, gaps << bits)
    return Axis(gaps + 1, np.full(gaps, width * SAFE), places.astype(np.int64), bits), width


def mean_to_middle(height: Any, width: Any) -> Floats:
    """The mean distance of a point anywhere in a rectangle from its middle."""
    p, q = np.asarray(height, dtype=np.float64) / 2.0, np.asarray(width, dtype=np.float64) / 2.0
    corner = np.hypot(p, q)
    slopes = p * p / (2.0 * q) * np.log((q + corner) / p) + q * q / (2.0 * p) * np.log((p + corner) / q)
    return np.asarray((corner + slopes) / 3.0)
