"""The interval of a region, by weights of nodes that hold it from above, where nodes share items between them.

Whatever weights c have sum_v W_xv c_v >= 1 for the items x of a region, and >= 0 for all others, c.Q is at least the
region's share. Ones at every node that meets the region are such weights; others, which count nodes inside more than
once and nodes beyond the border less, are better where most records are well inside. A few come from a linear programme
for a public guess of how records lie about the border. Their noise is bounded, and that of every single node near the
border, all at once, so that the released values may pick any combination of them: another linear programme finds the
one of the least end (docs/proofs/edge-decoding.md, Section 9).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from barrow import heavy
from barrow.mechanisms.edge_histogram import EdgeHistogram
from barrow.mechanisms.edge_intervals import Mask, RegionInterval, half_width, node_weights, region_mask
from barrow.mechanisms.edge_noise import node_half_widths
from barrow.numerics import float_up
from barrow.spaces.space import Floats

_GUESSES = (0.05, 0.3, 1.5)
"""How densely records lie outside the border, as a multiple of inside."""
_LEAST, _MOST = -6.0, 6.0
_MOST_ROWS = 30_000
"""Borders with more items than this have the plain weights alone."""


def region_interval(
    plan: EdgeHistogram, values: Floats, region: ArrayLike, miss: float = 0.05, *, outer: ArrayLike | None = None
) -> RegionInterval:
    """An interval that holds the share of people's items in ``region`` with probability at least 1 - miss.

    Args:
        plan: How the values were made.
        values: The released value of each node.
        region: Ids of the items, or one truth value for each item; chosen without looking at the release, or else use
            :func:`barrow.mechanisms.edge_intervals.chosen_region_interval`.
        miss: How often the interval may miss.
        outer: Where the region cuts cells: all that it meets, while ``region`` are those wholly inside.
    """
    least, most = region_mask(plan, region), region_mask(plan, region if outer is None else outer)
    above, wide, cut = best_end(plan, values, most, miss)
    if outer is None and (node_weights(plan, least)[0] == node_weights(plan, most)[1]).all():
        below, narrow = above - 2.0 * wide, wide
    else:
        other, narrow, _ = best_end(plan, values, ~least, miss)
        below = 1.0 - other
    low, high = max(0.0, min(below, 1.0)), min(1.0, max(above, 0.0))
    return RegionInterval(low, max(low, high), (below + above) / 2.0, cut, max(wide, narrow))


def best_end(plan: EdgeHistogram, values: Floats, region: Mask, miss: float) -> tuple[float, float, int]:
    """An upper end for the share of a region that misses with probability at most ``miss/2``.

    Returns:
        The end, the half width of the noise that crosses the region's border, and how many edges the border cuts: both
        are known beforehand. The noise is that of the plain weights, or of nodes that count as much as they lie inside.
    """
    inner, plain = node_weights(plan, region)
    carried = plan.decoder.weights.tocsr()
    inside, holds = (np.asarray(carried.T @ of).ravel() for of in (region.astype(np.float64), np.ones(len(region))))
    spread = np.where(holds > 0.0, inside / np.where(holds > 0.0, holds, 1.0), plain)  # where records lie evenly
    wide = max(half_width(plan, weights, miss) for weights in (plain, spread))
    cut = int(np.count_nonzero(plain[plan.graph.heads] != plain[plan.graph.tails]))
    free = _nodes_of(carried, _items_of(carried, inner != plain))
    rows = np.flatnonzero(_items_of(carried, free))
    if not len(rows) or len(rows) > _MOST_ROWS:
        return float(values @ plain) + wide + _short(plan, region, plain), wide, cut
    border = _Border(plan, carried[rows], region[rows], free, plain)
    guessed = (border.weights(np.where(region[rows], 1.0, guess)) for guess in _GUESSES)
    held = [plain, *(weights for weights in guessed if weights is not None)]
    # One side of each of them has miss/4 together, both sides of all nodes near the border the other miss/4.
    ends = np.array([float(values @ weights) + half_width(plan, weights, miss / (2 * len(held))) for weights in held])
    widths = node_half_widths(plan, miss / (4 * len(border.nodes)))[border.nodes]
    part, more = border.combined(np.array(held), ends, values[border.nodes], widths)
    weights = part @ np.array(held)
    weights[border.nodes] += more
    best = float(part @ ends + more @ values[border.nodes] + np.abs(more) @ widths) + _short(plan, region, weights)
    alone = [float(end) + _short(plan, region, one) for end, one in zip(ends, held, strict=True)]
    return min(best, *alone), wide, cut


def _short(plan: EdgeHistogram, region: Mask, weights: Floats) -> float:
    """By how much weights that were found in floats fail to hold the region: shares add up to 1."""
    return max(0.0, float((region - np.asarray(plan.decoder.weights @ weights)).max())) * (1.0 + 1e-9)


def _items_of(carried: Any, nodes: Mask) -> Mask:
    return np.asarray(carried @ nodes.astype(np.float64)) > 0.0


def _nodes_of(carried: Any, items: Mask) -> Mask:
    return np.asarray(carried.T @ items.astype(np.float64)) > 0.0


class _Border:
    """The linear programme of one region's border: all but how records are guessed to lie."""

    def __init__(self, plan: EdgeHistogram, carried: Any, region: Mask, free: Mask, plain: Floats) -> None:
        graph, self.nodes = plan.graph, np.flatnonzero(free)
        self.plain, self.carried, self.region = plain, carried, region.astype(np.float64)
        near = np.flatnonzero(free[graph.tails] | free[graph.heads])
        fixed = np.where(free, 0.0, plain)
        incidence = graph.incidence[:, near].T.tocsr()
        change, constant = incidence[:, self.nodes], np.asarray(incidence @ fixed)
        held, rest = carried[:, self.nodes], region - np.asarray(carried @ fixed)
        ones, none = heavy.sparse.eye_array(len(near)), heavy.sparse.csr_array((held.shape[0], len(near)))
        self.table = heavy.sparse.block_array([[-held, none], [change, -ones], [-change, -ones]], format="csr")
        self.most = np.concatenate([-rest, -constant, constant])
        self.price = 0.5 * float_up(plan.scale) / graph.lengths[near]  # for the noise of an edge that is cut
        self.bounds = [*[(_LEAST, _MOST)] * len(self.nodes), *[(0.0, None)] * len(near)]

    def weights(self, guess: Floats) -> Floats | None:
        """The weights of least value if records lay as guessed."""
        value = np.asarray(self.carried.T @ guess)[self.nodes]
        cost = np.concatenate([value / value.sum(), self.price])
        table: Any = self.table
        result = heavy.optimize.linprog(cost, A_ub=table, b_ub=self.most, bounds=self.bounds, method="highs")
        if result.x is None:
            return None
        weights = self.plain.copy()
        weights[self.nodes] = result.x[: len(self.nodes)]
        return weights

    def combined(self, held: Floats, ends: Floats, values: Floats, widths: Floats) -> tuple[Floats, Floats]:
        """The combination of least end: parts of the weights in ``held``, which add up to 1, and more for single nodes.

        Args:
            held: Weights that hold the region, one row each.
            ends: What each of them gives.
            values: The released values of the border's nodes.
            widths: How far these may be off.
        """
        near = self.carried[:, self.nodes]
        table: Any = heavy.sparse.hstack([heavy.sparse.csr_array(self.carried @ held.T), near, -near], format="csr")
        whole = np.append(np.ones(len(held)), np.zeros(2 * len(values)))[None, :]
        cost = np.concatenate([ends, values + widths, widths - values])
        result = heavy.optimize.linprog(cost, A_ub=-table, b_ub=-self.region, A_eq=whole, b_eq=[1.0], method="highs")
        if result.x is None:
            return np.eye(len(held))[ends.argmin()], np.zeros(len(values))
        part, up, down = np.split(result.x, [len(held), len(held) + len(values)])
        part = np.maximum(part, 0.0)
        return part / part.sum(), up - down
