"""Weights of nodes that hold a region of items from above, where nodes share items between them.

Whatever weights c have sum_v W_xv c_v >= 1 for the items x of a region, and >= 0 for all others, c.Q is at least the
region's share. Ones at every node that meets the region are such weights; others, which count nodes inside more than
once and nodes beyond the border less, are better where most records are well inside. Weights come from a linear
programme for a guess of how records lie about the border: a few fixed guesses, and one that the released values pick
from a finite public list. The best end of all is valid by the union bound (docs/proofs/edge-decoding.md, Section 9).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from barrow.mechanisms.edge_histogram import EdgeHistogram
from barrow.mechanisms.edge_intervals import Mask, half_width, node_weights
from barrow.numerics import float_up
from barrow.spaces.base import Floats, Ids

_GUESSES = (0.05, 0.3, 1.5)
"""How densely records lie outside the border, as a multiple of inside."""
_DENSITIES = (0.03, 0.3, 3.0)
"""What the released values may say of each quarter of the border, inside and outside: 3^8 guesses in all."""
_LEAST, _MOST = -6.0, 6.0
_MOST_ROWS = 30_000
"""Borders with more items than this have the plain weights alone."""


def best_end(plan: EdgeHistogram, values: Floats, region: Mask, miss: float) -> tuple[float, float, int]:
    """An upper end for the share of a region that misses with probability at most ``miss/2``.

    Returns:
        The end, the half width of its noise, and how many edges the plain weights cut.
    """
    ends = []
    for weights, part in _tried(plan, values, region):
        short = max(0.0, float((region - np.asarray(plan.decoder.weights @ weights)).max())) * (1.0 + 1e-9)
        wide = half_width(plan, weights, miss * part)
        ends.append((float(values @ weights) + wide + short, wide))
    plain = node_weights(plan, region)[1]
    cut = int(np.count_nonzero(plain[plan.graph.heads] != plain[plan.graph.tails]))
    return *min(ends), cut


def _tried(plan: EdgeHistogram, values: Floats, region: Mask) -> list[tuple[Floats, float]]:
    """Weights for a region, and which part of the miss rate each may use: the parts of all that might be add up to 1.

    Half is for weights that the region alone decides, half for those that released values pick among 3^8.
    """
    inner, plain = node_weights(plan, region)
    carried = plan.decoder.weights.tocsr()
    free = _nodes_of(carried, _items_of(carried, inner != plain))
    rows = np.flatnonzero(_items_of(carried, free))
    if not len(rows) or len(rows) > _MOST_ROWS:
        return [(plain, 1.0)]
    border = _Border(plan, carried[rows], region[rows], free, plain)
    fixed = [plain, *(border.weights(np.where(region[rows], 1.0, guess)) for guess in _GUESSES)]
    guess, many = _picked(plan, values, rows, region)
    found = [(weights, 0.5 / len(fixed)) for weights in fixed] + [(border.weights(guess), 0.5 / many)]
    return [(weights, part) for weights, part in found if weights is not None]


def _picked(plan: EdgeHistogram, values: Floats, rows: Ids, region: Mask) -> tuple[Floats, int]:
    """How densely records lie in each quarter about the region, inside and outside, roughly, and of how many guesses.

    Each node's value, if it is above 0, is spread over what it carries.
    """
    carried, inner = plan.decoder.weights.tocsr(), plan.space.innermost.items
    places = np.asarray(plan.space.innermost.coordinates, dtype=np.float64)
    places = np.vstack([places, np.tile(places.mean(axis=0), (plan.space.items - inner, 1))])
    off = places[rows] - places[region].mean(axis=0)
    sides = (off[:, :2] > 0.0) @ (1 << np.arange(min(2, off.shape[1])))
    part = 2 * sides + region[rows]
    each = np.maximum(values, 0.0) / np.maximum(np.asarray(carried.sum(axis=0)).ravel(), 1e-300)
    dense = np.asarray(carried[rows] @ each)
    count = np.maximum(np.bincount(part, minlength=8), 1)
    mean = np.bincount(part, dense, 8) / count / max(float(dense.mean()), 1e-300)
    levels = np.log(np.array(_DENSITIES))
    nearest = np.abs(np.log(np.maximum(mean, 1e-12))[:, None] - levels).argmin(axis=1)
    return np.array(_DENSITIES)[nearest][part], len(_DENSITIES) ** 8


def _items_of(carried: Any, nodes: Mask) -> Mask:
    return np.asarray(carried @ nodes.astype(np.float64)) > 0.0


def _nodes_of(carried: Any, items: Mask) -> Mask:
    return np.asarray(carried.T @ items.astype(np.float64)) > 0.0


class _Border:
    """The linear programme of one region's border: all but how records are guessed to lie."""

    def __init__(self, plan: EdgeHistogram, carried: Any, region: Mask, free: Mask, plain: Floats) -> None:
        from scipy.sparse import block_array, csr_array, eye_array

        graph, self.nodes = plan.graph, np.flatnonzero(free)
        self.plain, self.carried = plain, carried
        near = np.flatnonzero(free[graph.tails] | free[graph.heads])
        fixed = np.where(free, 0.0, plain)
        incidence = graph.incidence[:, near].T.tocsr()
        change, constant = incidence[:, self.nodes], np.asarray(incidence @ fixed)
        held, rest = carried[:, self.nodes], region - np.asarray(carried @ fixed)
        ones, none = eye_array(len(near)), csr_array((held.shape[0], len(near)))
        self.table = block_array([[-held, none], [change, -ones], [-change, -ones]], format="csr")
        self.most = np.concatenate([-rest, -constant, constant])
        self.price = 0.5 * float_up(plan.scale) / graph.lengths[near]  # for the noise of an edge that is cut
        self.bounds = [*[(_LEAST, _MOST)] * len(self.nodes), *[(0.0, None)] * len(near)]

    def weights(self, guess: Floats) -> Floats | None:
        """The weights of least value if records lay as guessed."""
        from scipy.optimize import linprog

        value = np.asarray(self.carried.T @ guess)[self.nodes]
        cost = np.concatenate([value / value.sum(), self.price])
        table: Any = self.table
        found = linprog(cost, A_ub=table, b_ub=self.most, bounds=self.bounds, method="highs")
        if found.x is None:
            return None
        weights = self.plain.copy()
        weights[self.nodes] = found.x[: len(self.nodes)]
        return weights
