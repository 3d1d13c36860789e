"""Pairs of near items whose paths stand in for distances, on grids and on the Earth."""

from __future__ import annotations

import math

import numpy as np

from barrow.spaces.base import Space
from barrow.spaces.geometry import Floats, Ids, Pairs
from barrow.spaces.sphere import unit_vectors


def near_pairs(space: Space) -> Pairs:
    """Pairs of items that touch on a grid of up to three dimensions, or are near on Earth; else along the graph.

    On maps no path along them is more than 2.8 % too long.
    """
    grid, found = space.lattice, None
    if grid is not None and grid.full and space.gaps is None and grid.dimension <= 3:
        found = _touching(grid.shape)
    elif space.on_earth:
        found = _near_on_earth(space.point_rows)
    if found is None:
        graph = space.graph()
        if graph.weights is not None or graph.nodes != space.items:
            return graph.tails, graph.heads, graph.nodes, graph.lengths * float(graph.stretch)
        found = graph.tails, graph.heads
    return *found, space.items, np.asarray(space.distance(*found), dtype=np.float64)


def _near_on_earth(points: Floats) -> tuple[Ids, Ids] | None:
    """All pairs of places (rows of latitude and longitude) within 2.4 of the usual gap; None if they fall apart."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    at = unit_vectors(points)
    tree = cKDTree(at)
    some = at[:: max(1, len(at) // 500)]
    gap = float(np.median(np.asarray(tree.query(some, k=min(4, len(at)))[0])[:, -1]))
    pairs = tree.query_pairs(2.4 * gap, output_type="ndarray").astype(np.int64)
    tails, heads = pairs[:, 0], pairs[:, 1]
    links = coo_array((np.ones(len(tails)), (tails, heads)), shape=(len(at), len(at)))
    return (tails, heads) if connected_components(links, directed=False)[0] == 1 else None


def _touching(shape: tuple[int, ...]) -> tuple[Ids, Ids]:
    """Pairs of cells of a grid whose coordinates differ by at most 1; in two dimensions also by 1 and 2."""
    ids = np.arange(int(np.prod(shape))).reshape(shape)
    tails, heads = [], []
    reach = 2 if len(shape) == 2 else 1
    for move in np.ndindex(*[2 * reach + 1] * len(shape)):
        offset = tuple(x - reach for x in move)
        if offset <= (0,) * len(shape) or math.gcd(*offset) > 1:
            continue
        here = ids[tuple(slice(max(0, -o), n - max(0, o)) for o, n in zip(offset, shape, strict=True))]
        there = ids[tuple(slice(max(0, o), n - max(0, -o)) for o, n in zip(offset, shape, strict=True))]
        tails.append(here.ravel())
        heads.append(there.ravel())
    return np.concatenate(tails).astype(np.int64), np.concatenate(heads).astype(np.int64)
