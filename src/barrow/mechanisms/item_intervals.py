"""Intervals of single items from what was released, never from what was decoded: so no decoder's bias is in them.

Where cells are no finer than nodes every item has an unbiased share whose noise has a known law. Items stand out by the
rule of Benjamini and Hochberg; those have two ends, as wide as Benjamini and Yekutieli ask of intervals that are shown
because they stood out. All others have an upper limit. Where nodes share cells between them no cell is determined: each
has an upper limit by the node that carries most of it (docs/proofs/item-intervals.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow import heavy
from barrow.mechanisms.histogram_regions import ReleasedShares, checked_confidence
from barrow.mechanisms.histograms import HistogramNoise
from barrow.spaces.space import Floats

_MISS = 0.05


@dataclass(frozen=True, eq=False)
class ItemIntervals:
    """An interval for every item.

    Attributes:
        low: The lower ends: 0 for what does not stand out.
        high: The upper ends; for what does not stand out, upper limits.

    >>> ItemIntervals(np.array([0.0, 0.2]), np.array([0.1, 0.4])).out.tolist()
    [False, True]
    """

    low: Floats
    high: Floats

    @property
    def out(self) -> Any:
        """Which items stand out."""
        return self.low > 0.0


def item_intervals(shares: ReleasedShares, confidence: float = 0.95) -> ItemIntervals:
    """Intervals for all items of a released histogram.

    >>> from barrow.spaces import Discrete
    >>> shares = ReleasedShares(Discrete(["a", "b", "c"]), "cells", np.array([0.5, 0.3, 0.01]), scale=0.01, grid=1e-9)
    >>> built = item_intervals(shares)
    >>> built.low.round(3).tolist(), built.high.round(3).tolist()
    ([0.466, 0.266, 0.0], [0.534, 0.334, 0.044])
    """
    miss = checked_confidence(confidence)
    if not shares.determined:
        assert shares.plan is not None  # noqa: S101  (only nodes of a graph are coarser than cells)
        carried = shares.plan.graph.weights
        limits = upper_limits(carried, shares.shares, shares.item_widths(2.0 * miss))
        return ItemIntervals(np.zeros(len(limits)), limits)
    return standing_out(shares.item_shares(), shares.item_widths, miss)


def standing_out(shares: Floats, widths: Any, miss: float) -> ItemIntervals:
    """Items by the rule of Benjamini and Hochberg, with the widths of Benjamini and Yekutieli.

    Args:
        shares: The unbiased share of each item.
        widths: From a miss rate to the half width of each item.
        miss: The share of intervals with two ends that may miss on average, and the share of upper limits.
    """
    many = count = len(shares)
    wide = widths(miss)
    while count:  # from all items downward: the first count that is reached is the largest one
        wide = widths(miss * count / many)
        result = int(np.count_nonzero(shares > wide))
        if result >= count:
            break
        count = result
    out = shares > wide if count else np.zeros(many, dtype=bool)
    # Limits are shown because their items did not stand out: so they too are as wide as if chosen. What is below 0 is
    # noise, and its limit that of a share of 0.
    left = max(many - int(np.count_nonzero(out)), 1)
    limit = np.maximum(shares, 0.0) + widths(2.0 * miss * left / many)
    low, high = np.where(out, shares - wide, 0.0), np.where(out, shares + wide, limit)
    return ItemIntervals(np.minimum(low, 1.0), np.minimum(high, 1.0))


def upper_limits(carried: Any, shares: Floats, widths: Floats) -> Floats:
    """For each item x, at most (share_v + width_v)/carried_xv for one output v of those that carry it.

    The output is chosen by public numbers alone: the one of least limit if all items held the same share.

    Args:
        carried: Sparse, one row for each item: how much of it each output counts, above 0.
        shares: The unbiased shares that were released.
        widths: How far each is off, one-sidedly, with the miss rate.
    """
    rows = carried.tocsr()
    even = np.asarray(rows.sum(axis=0)).ravel() / rows.shape[0]
    expected = (even + widths)[rows.indices] / rows.data
    each = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    best = np.lexsort((expected, each))[rows.indptr[:-1]]
    chosen = rows.indices[best]
    return np.asarray(np.minimum((np.maximum(shares[chosen], 0.0) + widths[chosen]) / rows.data[best], 1.0))


def intervals_of(mechanism: HistogramNoise, shares: ReleasedShares | None, raw: Any) -> ItemIntervals:
    """Intervals for all items from noisy values; upper limits alone where nothing is known about sums of them.

    >>> from barrow.mechanisms.histograms import histogram_noise
    >>> from barrow.spaces import Discrete
    >>> built = histogram_noise(Discrete(["a", "b", "c"]), "cells", 50, users=100)
    >>> raw = np.array([0.9, 0.1, 0.0])
    >>> intervals_of(built, ReleasedShares.of(built.space, built, raw), raw).out.tolist()
    [True, True, False]
    """
    if shares is not None:
        return item_intervals(shares)
    if (
        mechanism.kind == "cells"
    ):  # noise of another norm: each share has a law, and sums of them have none that is known
        return standing_out(np.asarray(raw), lambda miss: _even(mechanism, miss), _MISS)

    widths = mechanism.on_outputs.mean_half_width(mechanism.reports, 2.0 * _MISS) * mechanism.factors
    table = heavy.sparse.csr_array(heavy.sparse.csr_array(mechanism.matrix).T * mechanism.factors)
    table.eliminate_zeros()
    limits = upper_limits(table, np.asarray(raw) * mechanism.factors, np.asarray(widths))
    return ItemIntervals(np.zeros(len(limits)), limits)


def _even(mechanism: HistogramNoise, miss: float) -> Floats:
    """One half width for all cells."""
    return np.full(mechanism.query.dimension, mechanism.on_outputs.mean_half_width(mechanism.reports, miss))
