"""The neighbourhood graph of a product: the parts' graphs at every combination of the other parts' nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.numerics import float_down
from barrow.spaces.lattices import SAFE, check_nodes, rows_product
from barrow.spaces.neighbours import WEIGHT_BITS, Ints, NeighbourGraph

Part = tuple[NeighbourGraph, Fraction, int, Ints]
"""A part's graph, its weight, its number of items, and the part's item of each item of the product."""


def product_graph(parts: Sequence[Part]) -> NeighbourGraph:
    """The graph of a weighted sum of metrics (docs/proofs/edge-noise.md, Section 3)."""
    shape = [graph.nodes for graph, _, _, _ in parts]
    check_nodes(math.prod(shape))
    ids = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    tails, heads, lengths, numbers, start = [], [], [], [], 0
    for axis, (graph, weight, _, _) in enumerate(parts):
        here, there = ids.take(graph.tails, axis), ids.take(graph.heads, axis)
        wide = [1] * len(shape)
        wide[axis] = graph.edges
        scaled = graph.lengths * (float_down(weight) * SAFE)
        tails.append(here.ravel())
        heads.append(there.ravel())
        lengths.append(np.broadcast_to(scaled.reshape(wide), here.shape).ravel())
        numbers.append(np.arange(start, start + here.size).reshape(here.shape))
        start += here.size
    faces = _faces(parts, numbers) if len(parts) > 1 else parts[0][0].faces
    stretch = max(graph.stretch for graph, _, _, _ in parts) * (1 + Fraction(1, 2**36))
    ends = np.concatenate(tails), np.concatenate(heads)
    return NeighbourGraph(ids.size, *ends, np.concatenate(lengths), _weights(parts), faces, stretch)


def _weights(parts: Sequence[Part]) -> Any:
    if all(graph.weights is None and graph.nodes == items for graph, _, items, _ in parts):
        return None
    found, bits = None, 0
    for graph, _, items, index in parts:
        whole = graph.whole_weights[:items]
        # The largest power of two that divides all weights: products must stay whole multiples of 2^-48.
        common = int(np.bitwise_or.reduce(whole.data))
        spare = (common & -common).bit_length() - 1
        whole.data >>= spare
        bits += WEIGHT_BITS - spare
        if bits > WEIGHT_BITS:
            raise ParameterError(
                "The parts' spacings together need more bits than weights have.",
                allowed="a spacing in one part, or gaps of a power of two times the items' own",
                fix="leave the spacing of all parts but one out",
            )
        rows = whole[index]
        found = rows if found is None else rows_product(found, rows)
    if found is None:
        return None
    weights = found.astype(np.float64)
    weights.data = np.ldexp(weights.data, -bits)
    return weights


def _faces(parts: Sequence[Part], numbers: list[Ints]) -> Ints | None:
    """Squares of edges of the last two parts that have the same colour, where edges that meet differ in colour.

    For an edge of one part, the edges of the other with its colour do not meet: so no side is in two squares.
    """
    a, b = len(parts) - 2, len(parts) - 1
    first, second = parts[a][0], parts[b][0]
    colours, others = edge_colours(first), edge_colours(second)
    one, two = np.nonzero(colours[:, None] == others[None, :])
    if not one.size:
        return None
    along, across = (np.moveaxis(numbers[axis], (a, b), (-2, -1)) for axis in (a, b))
    sides = [
        along[..., one, second.tails[two]],
        across[..., first.heads[one], two],
        along[..., one, second.heads[two]],
        across[..., first.tails[one], two],
    ]
    return np.stack([np.asarray(x).ravel() for x in sides], axis=1).astype(np.int64)


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
