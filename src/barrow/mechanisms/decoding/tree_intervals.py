"""Intervals for the mass below every edge, made narrower by what sums imply."""

from __future__ import annotations

import numpy as np

from barrow.mechanisms.decoding.tree_groups import firsts, spread
from barrow.mechanisms.decoding.tree_least_squares import totals_above
from barrow.spaces import EdgeTree
from barrow.spaces.base import Floats


def tightened(tree: EdgeTree, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Intervals that hold whenever all of the given ones do: children add up to their parent, and all to 1.

    Where the given ones contradict each other (then some of them do not hold) they are returned as they are.

    >>> from barrow.spaces import Discrete, edge_tree
    >>> star = edge_tree(Discrete(["a", "b", "c"]))
    >>> low, high = tightened(star, np.array([0.5, 0.1, 0.0]), np.array([0.9, 0.9, 0.9]))
    >>> low.tolist(), high.round(9).tolist()
    ([0.5, 0.1, 0.0], [0.9, 0.5, 0.4])
    """
    low, high = np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)
    if tree.path:
        tight = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
    else:
        tight = _by_sums(tree, low.copy(), high.copy())
    return (low, high) if (tight[0] > tight[1] + 1e-12).any() else tight


def _by_sums(tree: EdgeTree, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    for here in reversed(tree.levels[1:]):
        begins = firsts(tree.parents[here])
        above = tree.parents[here[begins]]
        low[above] = np.maximum(low[above], np.add.reduceat(low[here], begins))
        high[above] = np.minimum(high[above], np.add.reduceat(high[here], begins))
    for here in tree.levels:
        begins = firsts(tree.parents[here])
        group = spread(begins, len(here))
        rest_low = (np.add.reduceat(low[here], begins))[group] - low[here]
        rest_high = (np.add.reduceat(high[here], begins))[group] - high[here]
        # 2^-40 covers the rounding of sums over up to millions of siblings.
        most = totals_above(tree, high, here) - rest_low + 2.0**-40
        least = totals_above(tree, low, here) - rest_high - 2.0**-40
        high[here], low[here] = np.minimum(high[here], most), np.maximum(low[here], least)
    return low, high
