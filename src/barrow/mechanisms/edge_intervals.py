"""Intervals for regions and other linear statistics of a release with noise along edges: free post-processing.

Of a region only the boundary is noisy: an edge with both ends inside adds and subtracts the same number. So intervals
are as narrow as boundaries are short. Where nodes carry shares of several items, a region is held between the nodes
that lie inside it and those that touch it (docs/proofs/edge-decoding.md, Sections 7 to 9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from barrow import heavy
from barrow.errors import ParameterError
from barrow.mechanisms.edge_histogram import EdgeHistogram
from barrow.mechanisms.edge_sums import EdgeSum
from barrow.numerics import float_up
from barrow.numerics.search import distinct
from barrow.spaces.space import Floats

Mask = NDArray[np.bool_]
LEAST_MISS = 1e-290
"""At smaller levels an interval is all of [0, 1]."""


@dataclass(frozen=True)
class RegionInterval:
    """An interval for the share of people's items in a region, from released values alone.

    Attributes:
        low: The lower end, cut at 0.
        high: The upper end, cut at 1.
        estimate: The unbiased estimate where the region is made of whole nodes, else the middle of its two bounds, or
            the decoded share where that is known.
        boundary: How many edges its boundary cuts; of the outer one where there are two.
        noise: How much of the interval, to either side, is the noise that crosses the border.

    >>> result = RegionInterval(0.2, 0.4, 0.29, 8, 0.01)
    >>> round(result.border, 2), result.around(0.5).estimate
    (0.1, 0.4)
    """

    low: float
    high: float
    estimate: float
    boundary: int
    noise: float = 0.0

    @property
    def border(self) -> float:
        """How much more it may be off, to either side: by records near the border, which nobody can place exactly."""
        return max(0.0, self.high - self.estimate - self.noise, self.estimate - self.low - self.noise)

    def around(self, decoded: float) -> RegionInterval:
        """The same interval about a decoded share; where that lies outside, about the end next to it."""
        return replace(self, estimate=min(max(decoded, self.low), self.high))


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
    cut = plan.alone & (change != 0.0)
    scales = np.abs(change[cut]) / (graph.lengths[cut] * rate)
    if plan.faces is None:
        return EdgeSum(scales, reports=plan.reports)
    turned = change[plan.faces] * graph.face_signs
    met = (turned != 0.0).any(axis=1)
    return EdgeSum(scales, turned[met], graph.lengths[plan.faces][met], rate, plan.reports)


def half_width(plan: EdgeHistogram, weights: ArrayLike, miss: float = 0.05) -> float:
    """sum_v weights_v y_v is farther from its value without noise than this with probability at most ``miss``."""
    wide = noise_of(plan, weights).half_width(miss)
    return wide + float_up(plan.grid) / 2.0 * float(np.abs(np.asarray(weights)).sum()) * (1.0 + 1e-9)


def node_weights(plan: EdgeHistogram, region: ArrayLike) -> tuple[Floats, Floats]:
    """Inner and outer weights of a region: sum_v inner_v h_v(x) <= 1[x in region] <= sum_v outer_v h_v(x).

    They are equal where every item is a node. Nodes that carry no item go where fewer edges are cut.
    """
    inside = region_mask(plan, region)
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


def region_mask(plan: EdgeHistogram, region: ArrayLike) -> Mask:
    """One truth value for each item of a region that is named by ids or by truth values."""
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


def simple_region_miss(plan: EdgeHistogram, boundary: int, miss: float = 0.05) -> float:
    """The miss rate for one region of ``boundary`` cut edges at which all simple regions of a flat grid hold at once.

    Simple regions are connected and so is what is outside: their boundaries are simple cycles of the dual graph, of
    which at most (edges/k + border edges/2) 3^(k-1) have length k. Length k gets 6/(pi k)^2 of the miss rate.
    """
    shape = _flat_grid(plan)
    k = int(boundary)
    if k < 1:
        raise ParameterError(f"boundary is {boundary!r}.", allowed="at least 1 edge", fix="boundary=4")
    if shape is None:
        raise ParameterError(
            "The graph is no flat grid, so its simple regions are not counted.",
            allowed="a rectangle of at least 2 x 2 nodes",
            fix="any_region_miss",
        )
    border = 2 * (shape[0] + shape[1] - 2)
    cycles = math.log(plan.graph.edges / k + border / 2.0) + (k - 1) * math.log(3.0)
    return _share(miss, k, max(0.0, cycles))


def any_region_miss(edges: int, boundary: int, miss: float = 0.05) -> float:
    """The miss rate for a region of ``boundary`` cut edges at which all regions hold at once: sets of edges."""
    k = int(boundary)
    sets = math.lgamma(edges + 1) - math.lgamma(k + 1) - math.lgamma(edges - k + 1)
    return miss if k == 0 else _share(miss, k, max(0.0, sets))


def _share(miss: float, boundary: int, log_many: float) -> float:
    """6/(pi k)^2 of the miss rate, divided among so many; rounded down."""
    return miss * 6.0 / (math.pi * boundary) ** 2 * math.exp(-log_many) * (1.0 - 1e-9)


def chosen_region_interval(
    plan: EdgeHistogram, values: Floats, region: ArrayLike, miss: float = 0.05, *, outer: ArrayLike | None = None
) -> RegionInterval:
    """An interval for a region that may be chosen after looking at the release.

    With probability at least 1 - miss all of them are in their intervals at once: on a flat grid all simple regions
    (connected, with connected outside), on any other graph all regions. Regions in several pieces have all of [0, 1].
    """
    inner = node_weights(plan, region_mask(plan, region))[0]
    outside = node_weights(plan, region_mask(plan, region if outer is None else outer))[1]
    own = 1.0
    for weights in (inner, outside):
        cut = int(np.count_nonzero(weights[plan.graph.heads] != weights[plan.graph.tails]))
        if _flat_grid(plan) is None:
            here = any_region_miss(plan.graph.edges, cut, miss)
        else:
            here = simple_region_miss(plan, max(1, cut), miss) if _simple(plan, weights) else 0.0
        own = min(own, here)  # each end uses its own boundary; the smaller miss rate is safe for both
    at_least, at_most = float(values @ inner), float(values @ outside)
    if own < LEAST_MISS:
        return RegionInterval(0.0, 1.0, (at_least + at_most) / 2.0, cut, 1.0)
    narrow, wide = half_width(plan, inner, own), half_width(plan, outside, own)
    low, high = max(0.0, min(at_least - narrow, 1.0)), min(1.0, max(at_most + wide, 0.0))
    return RegionInterval(low, max(low, high), (at_least + at_most) / 2.0, cut, max(narrow, wide))


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


def _simple(plan: EdgeHistogram, weights: Floats) -> bool:
    """Whether the region and what is outside it are in one piece each."""
    graph = plan.graph
    same = weights[graph.heads] == weights[graph.tails]
    ends = (np.ones(int(same.sum())), (graph.tails[same], graph.heads[same]))
    joined = heavy.sparse.coo_array(ends, shape=(graph.nodes, graph.nodes))
    pieces = heavy.connected_components(joined, directed=False)[0]
    return bool(pieces == len(distinct(weights)))
