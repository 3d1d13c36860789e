"""Intervals for regions and other linear statistics of a release with noise along edges: free post-processing.

Of a region only the boundary is noisy: an edge with both ends inside adds and subtracts the same number. So intervals
are as narrow as boundaries are short. Where nodes carry shares of several items, a region is held between the nodes
that lie inside it and those that touch it (docs/proofs/edge-decoding.md, Sections 7 to 9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow.errors import ParameterError
from barrow.mechanisms.edge_histogram import EdgeHistogram
from barrow.mechanisms.edge_sums import EdgeSum
from barrow.numerics import float_up
from barrow.spaces.base import Floats

Mask = NDArray[np.bool_]
LEAST_LEVEL = 1e-290
"""At smaller levels an interval is all of [0, 1]."""


@dataclass(frozen=True)
class RegionInterval:
    """An interval for the share of people's items in a region, from released values alone.

    Attributes:
        low: The lower end, cut at 0.
        high: The upper end, cut at 1.
        estimate: The unbiased estimate where the region is made of whole nodes, else the middle of its two bounds.
        boundary: How many edges its boundary cuts; of the outer one where there are two.
    """

    low: float
    high: float
    estimate: float
    boundary: int

    def nearest(self, value: float) -> float:
        """The point of the interval nearest to a decoded share, which may lie outside."""
        return min(max(value, self.low), self.high)


def noise_of(plan: EdgeHistogram, weights: ArrayLike) -> EdgeSum:
    """The distribution of the noise of sum_v weights_v y_v, the mean of all reports, rounding to the grid aside."""
    graph = plan.graph
    c = np.asarray(weights, dtype=np.float64)
    if c.shape != (graph.nodes,) or not np.isfinite(c).all():
        raise ParameterError(
            f"weights has shape {c.shape}, or is not finite.",
            allowed=f"a finite number for each of the {graph.nodes:,} nodes",
            fix="node_weights(plan, region)",
        )
    change = c[graph.heads] - c[graph.tails]
    rate = 1.0 / float_up(plan.scale)
    if plan.faces is None:
        cut = change != 0.0
        return EdgeSum(np.abs(change[cut]) / (graph.lengths[cut] * rate), reports=plan.reports)
    alone = np.ones(graph.edges, dtype=bool)
    alone[plan.faces] = False
    cut = alone & (change != 0.0)
    turned = change[plan.faces] * graph.face_signs
    met = (turned != 0.0).any(axis=1)
    scales = np.abs(change[cut]) / (graph.lengths[cut] * rate)
    return EdgeSum(scales, turned[met], graph.lengths[plan.faces][met], rate, plan.reports)


def half_width(plan: EdgeHistogram, weights: ArrayLike, level: float = 0.05) -> float:
    """sum_v weights_v y_v is farther from its value without noise than this with probability at most ``level``."""
    wide = noise_of(plan, weights).half_width(level)
    return wide + float_up(plan.grid) / 2.0 * float(np.abs(np.asarray(weights)).sum()) * (1.0 + 1e-9)


def node_weights(plan: EdgeHistogram, region: ArrayLike) -> tuple[Floats, Floats]:
    """Inner and outer weights of a region: sum_v inner_v h_v(x) <= 1[x in region] <= sum_v outer_v h_v(x).

    They are equal where every item is a node. Nodes that carry no item go where fewer edges are cut.
    """
    inside = _mask(plan, region)
    carries = plan.decoder.weights.astype(bool).astype(np.float64)
    holds = np.asarray(carries.sum(axis=0)).ravel()
    held = np.asarray(carries.T @ inside.astype(np.float64)).ravel()
    empty = holds == 0.0
    return tuple(  # type: ignore[return-value]
        _without_items(plan, np.where(chosen & ~empty, 1.0, 0.0), empty) for chosen in (held == holds, held > 0.0)
    )


def _without_items(plan: EdgeHistogram, weights: Floats, empty: Mask) -> Floats:
    """Nodes that carry nothing take the side of most of their neighbours, by the noise of the edges."""
    if not empty.any():
        return weights
    graph = plan.graph
    near = 1.0 / graph.lengths**2
    for _ in range(3):
        pull = np.bincount(graph.tails, near * (2.0 * weights[graph.heads] - 1.0), graph.nodes)
        pull += np.bincount(graph.heads, near * (2.0 * weights[graph.tails] - 1.0), graph.nodes)
        weights = np.where(empty, (pull > 0.0).astype(np.float64), weights)
    return weights


def _mask(plan: EdgeHistogram, region: ArrayLike) -> Mask:
    given = np.asarray(region)
    items = plan.space.items
    if given.dtype == bool:
        if given.shape != (items,):
            raise ParameterError(
                f"The region has {given.size:,} truth values.", allowed=f"one for each of {items:,} items", fix="ids"
            )
        return given
    mask = np.zeros(items, dtype=bool)
    if given.size:
        mask[plan.space._ids(given)] = True
    return mask


def region_interval(plan: EdgeHistogram, values: Floats, region: ArrayLike, level: float = 0.05) -> RegionInterval:
    """An interval that holds the share of people's items in ``region`` with probability at least 1 - level.

    Args:
        plan: How the values were made.
        values: The released value of each node.
        region: Ids of the items, or one truth value for each item; chosen without looking at the release, or else use
            :func:`chosen_region_interval`.
        level: How often the interval may miss.
    """
    inner, outer = node_weights(plan, region)
    at_least, at_most = float(values @ inner), float(values @ outer)
    low = at_least - half_width(plan, inner, level)
    high = at_most + (half_width(plan, outer, level) if (inner != outer).any() else at_least - low)
    cut = int(np.count_nonzero(outer[plan.graph.heads] != outer[plan.graph.tails]))
    return RegionInterval(max(0.0, min(low, 1.0)), min(1.0, max(high, 0.0)), (at_least + at_most) / 2.0, cut)


def simple_region_level(plan: EdgeHistogram, boundary: int, level: float = 0.05) -> float:
    """The level for one region of ``boundary`` cut edges at which all simple regions of a flat grid hold at once.

    Simple regions are connected and so is what is outside: their boundaries are simple cycles of the dual graph, of
    which at most (edges/k + border edges/2) 3^(k-1) have length k. Length k gets 6/(pi k)^2 of the level.
    """
    shape = _flat_grid(plan)
    k = int(boundary)
    if k < 1:
        raise ParameterError(f"boundary is {boundary!r}.", allowed="at least 1 edge", fix="boundary=4")
    if shape is None:
        raise ParameterError(
            "The graph is no flat grid, so its simple regions are not counted.",
            allowed="a rectangle of at least 2 x 2 nodes",
            fix="any_region_level",
        )
    border = 2 * (shape[0] + shape[1] - 2)
    cycles = math.log(plan.graph.edges / k + border / 2.0) + (k - 1) * math.log(3.0)
    return _share(level, k, max(0.0, cycles))


def any_region_level(edges: int, boundary: int, level: float = 0.05) -> float:
    """The level for one region of ``boundary`` cut edges at which all regions hold at once: they are sets of edges."""
    k = int(boundary)
    sets = math.lgamma(edges + 1) - math.lgamma(k + 1) - math.lgamma(edges - k + 1)
    return level if k == 0 else _share(level, k, max(0.0, sets))


def _share(level: float, boundary: int, log_many: float) -> float:
    """6/(pi k)^2 of the level, divided among so many; rounded down."""
    return level * 6.0 / (math.pi * boundary) ** 2 * math.exp(-log_many) * (1.0 - 1e-9)


def chosen_region_interval(
    plan: EdgeHistogram, values: Floats, region: ArrayLike, level: float = 0.05
) -> RegionInterval:
    """An interval for a region that may be chosen after looking at the release.

    With probability at least 1 - level all of them are in their intervals at once: on a flat grid all simple regions
    (connected, with connected outside, which is checked), on any other graph all regions.
    """
    both = node_weights(plan, region)
    own = 1.0
    for weights in both:
        cut = int(np.count_nonzero(weights[plan.graph.heads] != weights[plan.graph.tails]))
        if _flat_grid(plan) is None:
            here = any_region_level(plan.graph.edges, cut, level)
        else:
            _check_simple(plan, weights)
            here = simple_region_level(plan, max(1, cut), level)
        own = min(own, here)  # each end uses its own boundary; the smaller level is safe for both
    if own < LEAST_LEVEL:
        return RegionInterval(0.0, 1.0, float(values @ (both[0] + both[1])) / 2.0, 0)
    return region_interval(plan, values, region, own)


def _flat_grid(plan: EdgeHistogram) -> tuple[int, int] | None:
    """The shape of a graph that is a flat grid of nodes."""
    nodes, edges = plan.graph.nodes, plan.graph.edges
    step = plan.graph.heads - plan.graph.tails
    columns = int(step.max())
    rows = nodes // max(columns, 1)
    flat = (
        columns > 1
        and rows * columns == nodes
        and edges == rows * (columns - 1) + columns * (rows - 1)
        and bool(np.isin(step, [1, columns]).all())
        and bool((plan.graph.tails[step == 1] % columns < columns - 1).all())
    )
    return (rows, columns) if flat else None


def _check_simple(plan: EdgeHistogram, weights: Floats) -> None:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = plan.graph
    same = weights[graph.heads] == weights[graph.tails]
    ends = (np.ones(int(same.sum())), (graph.tails[same], graph.heads[same]))
    pieces: Any = connected_components(coo_array(ends, shape=(graph.nodes, graph.nodes)), directed=False)[0]
    if pieces != len(np.unique(weights)):
        raise ParameterError(
            "The region, or what is outside it, is in several pieces.",
            allowed="a connected region with a connected outside",
            fix="one interval for each piece: they add up",
        )
