"""The neighbourhood graph of places on Earth: a grid of latitudes and longitudes with lengths that are proved.

Edges along meridians count 1/sqrt 2 of their length, edges along a row of latitude 1/sqrt 2 of the row's length at the
row's own latitude. Because the cosine is concave, an item between two rows is then never moved at a higher cost than
the great circle is long, and the same holds across the poles if there is a node at each. Without them shortest ways
may leave the box towards a pole, which is harmless up to a width of 159 degrees; wider boxes are closed round the Earth
and get both poles (docs/proofs/edge-noise.md, Section 4).
"""

from __future__ import annotations

import math

import numpy as np

from barrow import heavy
from barrow.numerics.search import distinct
from barrow.spaces.lattices import SAFE, Axis, bits_for, grid_weights, lattice, line_axis, rounded_axis, stretch_upper
from barrow.spaces.neighbours import NeighbourGraph
from barrow.spaces.space import Floats, Ids
from barrow.spaces.sphere import EARTH_RADIUS_KM

WIDEST = 159.0
"""Degrees of longitude up to which a box needs no poles: sin(u)/u >= 1/sqrt 2 at half of it."""
_HALF = math.sqrt(0.5)


def scattered_graph(points: Floats, diameter: float, spacing: float, least: float) -> NeighbourGraph:
    """The graph of places that are in no rows: they are rounded to dyadic positions among the nodes.

    Args:
        points: Latitude and longitude in degrees, one row for each item.
        diameter: How many kilometres count as 1.
        spacing: The widest gap between nodes in kilometres.
        least: A lower bound on the distance of two items in kilometres, by which rounding is paid.
    """
    per_degree = math.radians(1.0) * EARTH_RADIUS_KM
    lats, lons = points[:, 0], points[:, 1]
    up, height = rounded_axis(lats, spacing / per_degree, bits_for(2))
    widest = math.cos(math.radians(float(np.abs(lats).min())))
    along, width = rounded_axis(lons, spacing / (per_degree * widest), bits_for(2))
    moved = math.hypot(height * 2.0**-up.bits, width * 2.0**-along.bits) * per_degree
    each = np.arange(len(points))
    ends = float(lats.min()), float(lats.max())
    rows = np.linspace(*ends, up.nodes)
    span = float(np.ptp(lons))
    return _joined(up, along, rows, span, per_degree / diameter * SAFE / (1.0 + 2.0 * moved / least), 1.0, (each, each))


def latitude_graph(points: Floats, diameter: float, spacing: float | None) -> NeighbourGraph:
    """The graph of places given by latitude and longitude in degrees.

    Args:
        points: One row for each item; items of a row share their latitude.
        diameter: How many kilometres count as 1.
        spacing: The widest gap between nodes in kilometres; None for one row of nodes for each row of items, with as
            many columns as the longest row has items.
    """
    rows, row = np.unique(points[:, 0], return_inverse=True)
    lons, column = np.unique(points[:, 1], return_inverse=True)
    row, column = row.ravel().astype(np.int64), column.ravel().astype(np.int64)
    per_degree = math.radians(1.0) * EARTH_RADIUS_KM
    up = line_axis(rows, None if spacing is None else spacing / per_degree, bits_for(2), cosines=True)
    along = _columns(points, rows, row, lons, None if spacing is None else spacing / per_degree)
    nodes = np.linspace(rows[0], rows[-1], up.nodes) if up.nodes < len(rows) else rows
    # Units of the diameter for a degree, short of every rounding.
    unit = per_degree / diameter * SAFE
    return _joined(up, along, nodes, float(lons[-1] - lons[0]), unit, _wrong_way(rows, up), (row, column))


def _joined(
    up: Axis, along: Axis, rows: Floats, span: float, unit: float, shorter: float, index: tuple[Ids, Ids]
) -> NeighbourGraph:
    """Rows of nodes at latitudes ``rows``, ``span`` degrees wide, with ``unit`` for a degree of a great circle."""
    around = span > WIDEST
    meridian = up.gaps * (unit * (_HALF if along.nodes > 1 else 1.0))
    # sin(90 - |lat|) keeps the relative accuracy of the cosine near the poles, where linspace may be off by 2^-45.
    cosines = np.sin(np.radians(np.maximum(90.0 - np.abs(rows) - 2.0**-40, 0.0))) * shorter
    gaps = np.append(along.gaps, 360.0 - span) if around else along.gaps
    parallel = np.outer(cosines, gaps) * (unit * _HALF)
    net, faces = lattice((up.nodes, along.nodes), (False, around))
    lengths = np.concatenate([np.repeat(meridian, along.nodes), parallel.ravel()])
    weights = grid_weights([up, along], index)
    graph = NeighbourGraph(up.nodes * along.nodes, net.tails, net.heads, lengths, weights, faces, stretch_upper(2))
    if not around:
        return graph
    south, north = (float(angle) * unit * _HALF for angle in (90.0 + rows[0], 90.0 - rows[-1]))
    return _with_poles(graph, (up.nodes, along.nodes), south, north)


def _columns(points: Floats, rows: Floats, row: Ids, lons: Floats, spacing: float | None) -> Axis:
    """The axis of longitudes: those of the items if all rows share them, else as many as in the longest row."""
    most = int(np.bincount(row).max())
    if spacing is None:
        if most == len(lons) or len(lons) == 1:
            return line_axis(lons, None, bits_for(2))
        return line_axis(lons, float(lons[-1] - lons[0]) / (most - 1 if most > 1 else 1), bits_for(2))
    widest = math.cos(math.radians(float(np.abs(rows).min())))
    return line_axis(lons, spacing / widest, bits_for(2))


def _wrong_way(rows: Floats, up: Axis) -> float:
    """What rows must be shortened by because weights are rounded to the south below the equator, to the north above.

    Between the two items where that changes, the weight may be off by 2^-bits towards the larger cosine.
    """
    if up.nodes == len(rows):
        return 1.0
    width = (rows[-1] - rows[0]) / (up.nodes - 1)
    nodes = np.abs(rows[0] + width * np.arange(up.nodes))
    north = np.append(nodes[1:] > nodes[:-1], True)[np.minimum(up.places >> up.bits, up.nodes - 1)]
    # Items near a change of direction, one more on either side: which band an item is in may itself be rounded.
    change = np.flatnonzero(np.diff(north))
    near = distinct(np.clip(np.add.outer(change, [-1, 0, 1, 2]).ravel(), 0, len(rows) - 1))
    least = float(np.cos(np.radians(np.abs(rows[near]))).min()) if near.size else 1.0
    return max(0.0, 1.0 - 2.0 ** (1 - up.bits) / least)


def _with_poles(graph: NeighbourGraph, shape: tuple[int, int], south: float, north: float) -> NeighbourGraph:
    """One node at each pole, joined to every node of the outermost rows; nobody's items are there."""
    columns, last = np.arange(shape[1]), (shape[0] - 1) * shape[1]
    weights = graph.weights
    if weights is not None:
        weights = heavy.sparse.csr_array(heavy.sparse.hstack([weights, heavy.sparse.csr_array((weights.shape[0], 2))]))
    return NeighbourGraph(
        graph.nodes + 2,
        np.concatenate([graph.tails, columns, last + columns]),
        np.concatenate([graph.heads, np.repeat([graph.nodes, graph.nodes + 1], shape[1])]),
        np.concatenate([graph.lengths, np.repeat([south, north], shape[1])]),
        weights,
        graph.faces,
        graph.stretch,
    )
