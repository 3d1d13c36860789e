"""Intervals for decoded histograms: the noise is drawn again around what was released, and decoded again.

This uses released values and public numbers only, so it costs nothing. How often the intervals hold is measured by
``scripts/bench look`` and said in docs/histograms.md; it is no proved bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from barrow.errors import ParameterError
from barrow.noise.source import SeededSource
from barrow.numerics import whole
from barrow.planning.simulate import Simulable
from barrow.progress import track
from barrow.spaces.base import Floats

_SEED = 20260316
_DRAWS, _MANY_ITEMS, _FEW_DRAWS = 24, 300, 3
_NEIGHBOURS = 31
_WIDTH = 2.4
"""Half widths are so many root mean squares: with 2 intervals hold for 94 % to 96 % of items, with 2.4 for 96 % to 98 %
(the decoder's bias is estimated from a picture that has it already)."""
_ENOUGH = 20


@dataclass(frozen=True, eq=False)
class Resampled:
    """What a histogram might have been.

    Attributes:
        shares: The histogram that was released.
        low: The lower ends of intervals, one for each item; 0 for what does not stand out of the noise.
        high: The upper ends; for what does not stand out, one-sided limits.
        noise: What the noise alone reaches at any item with about 5 %.
        deviations: A row for each redrawn histogram: how far it is off the released one.
    """

    shares: Floats
    low: Floats
    high: Floats
    noise: float
    deviations: Floats

    @property
    def redraws(self) -> tuple[Floats, ...]:
        """Two more histograms that fit what was released as well."""
        return tuple(self.shares + off for off in self.deviations[:2])

    def region(self, inside: Floats) -> tuple[float, float, float]:
        """The share of a region, and the ends of its interval: deviations of its items are added up, then squared."""
        chosen = np.asarray(inside, dtype=bool)
        if chosen.shape != self.shares.shape:
            raise ParameterError(
                f"The region has {chosen.size} marks for {self.shares.size} items.",
                allowed="one truth value for each item",
                fix="inside=[True, False, …]",
            )
        share = float(self.shares[chosen].sum())
        off = self.deviations[:, chosen].sum(axis=1)
        # Few draws say little about one region: by chance they may all be near.
        rare = 1.0 if len(off) >= _ENOUGH else 1.0 + 2.0 / len(off)
        half = _WIDTH * rare * math.sqrt(float((off**2).mean()))
        return share, max(0.0, share - half), min(1.0, share + half)


def resampled(made: Simulable, shares: Floats, draws: int | None = None) -> Resampled:
    """Redraw the noise around a released histogram, and decode each draw as the release was decoded.

    An item's half width is 2.4 root mean squares of its deviations, or of those of the 31 items with the most similar
    shares, whichever is larger: so a few draws are enough for large spaces.

    Args:
        made: The mechanism of the release.
        shares: The histogram that was released.
        draws: How many; 24 on small spaces and 3 on large ones by default.
    """
    here = np.asarray(shares, dtype=np.float64)
    default = _DRAWS if len(here) <= _MANY_ITEMS else _FEW_DRAWS
    count = default if draws is None else whole(draws, "draws", least=2, most=10_000)
    source = SeededSource(_SEED)
    again = [made.simulated(here, source) for _ in track(range(count), "drawing the noise again")]
    off = np.stack(again) - here
    own = (off**2).mean(axis=0)
    half = _WIDTH * np.sqrt(np.maximum(own, _pooled(here, own)))
    largest = off.max(axis=1)
    # The largest of a few draws is passed too often; the largest of many items varies by about a fifth.
    noise = float(np.quantile(largest, 0.95)) if count >= _ENOUGH else 1.2 * float(largest.max())
    low = np.where(here > noise, np.maximum(here - half, 0.0), 0.0)
    return Resampled(here, low, np.minimum(here + half, 1.0), noise, off)


def _pooled(shares: Floats, squares: Floats) -> Floats:
    """The mean square over items with similar shares."""
    order = np.argsort(shares, kind="stable")
    count, width = len(shares), min(_NEIGHBOURS, len(shares))
    sums = np.concatenate([[0.0], np.cumsum(squares[order])])
    first = np.clip(np.arange(count) - width // 2, 0, count - width)
    found = np.empty(count)
    found[order] = (sums[first + width] - sums[first]) / width
    return np.maximum(found, 0.0)
