"""How far off a release is, from what was released: the noise is drawn again around it, and decoded again.

Only released values and public numbers are used, so it costs nothing. Where the released values say how much each item
has, the decoded histogram is near enough to the truth for this: the estimate is measured to be within 0.67 and 1.5 of
the true mean error on nine of ten real sets (docs/histograms.md).

Where nodes are coarser than items it is not: any map with the same node values fits as well, and the decoded one is the
smoothest of them. Two maps then say between which errors it may be: the decoded one, and one that has the same node
values with everything at single items. What the plan predicted stays the best single number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from barrow.mechanisms.histograms import HistogramNoise
from barrow.noise.source import SeededSource
from barrow.planning.histograms import HistogramTarget, error_at
from barrow.planning.node_spacing import node_gap, noise_cost
from barrow.planning.simulate import Simulable
from barrow.spaces.space import Floats

_DRAWS = ((500, 12), (2000, 6), (12_000, 3))
"""So many redraws up to so many items, beyond them two."""
_SEED = 20261119
_LITTLE = 0.1
"""Nodes can be too coarse only where the noise is less than this share of the gaps between them."""
FAR_APART = 10.0
"""Where the two maps of coarse nodes differ by more, nodes are too coarse to say much."""


@dataclass(frozen=True)
class OwnError:
    """What a release says about its own error, in the space's units.

    Attributes:
        about: How far off it is, about.
        between: Of coarse nodes: the errors if records are spread evenly between nodes, and if they are in few places.

    >>> OwnError(1.2).to_json()
    {'about': 1.2, 'between': None}
    """

    about: float
    between: tuple[float, float] | None = None

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {"about": self.about, "between": None if self.between is None else list(self.between)}


def own_error(target: HistogramTarget, built: Simulable, shares: Floats, predicted: float) -> OwnError:
    """The error of one release.

    Args:
        target: What was wanted.
        built: The mechanism.
        shares: The histogram that was released, one share for each item.
        predicted: What the plan said.
    """
    here = np.asarray(shares, dtype=np.float64)
    draws = next((count for most, count in _DRAWS if len(here) <= most), 2)
    lone = single_items(built, here)
    if lone is None:
        return OwnError(error_at(target, built, here, draws))
    low, high = between(target, built, here, draws)
    return OwnError(min(max(predicted, low), high), (low, high))


def between(target: HistogramTarget, built: Simulable, shares: Floats, draws: int = 1) -> tuple[float, float]:
    """Of nodes coarser than items: the errors at a smooth map, and at one with the same node values in few places."""
    lone = single_items(built, shares)
    errors = [error_at(target, built, truth, draws) for truth in (shares, shares if lone is None else lone)]
    return min(errors), max(errors)


def too_coarse(target: HistogramTarget, built: Simulable) -> tuple[float, float] | None:
    """:func:`between` at the target's reference, where nodes leave open far more than the noise does; else None."""
    reference = target.reference
    if not isinstance(built, HistogramNoise) or single_items(built, reference) is None:
        return None
    if noise_cost(built) >= _LITTLE * node_gap(built):
        return None
    low, high = between(target, built, built.simulated(reference, SeededSource(_SEED)))
    return (low, high) if high > FAR_APART * low else None


def single_items(built: Simulable, shares: Floats) -> Floats | None:
    """A map with about the same node values, all at one item for each node; None where nodes are no coarser than items.

    >>> from barrow.mechanisms.histograms import histogram_noise
    >>> from barrow.spaces import Line
    >>> single_items(histogram_noise(Line(0, 4, step=1, cells=True), "edges", 5, users=10), np.full(4, 0.25)) is None
    True
    """
    if not isinstance(built, HistogramNoise) or built.kind != "edges" or built.along_edges.plan.graph.weights is None:
        return None
    carried = built.along_edges.plan.graph.weights.tocsc()
    homes = np.asarray(carried.argmax(axis=0)).ravel()
    held = np.maximum(np.asarray(carried.T @ shares).ravel(), 0.0)
    result = np.bincount(homes, held, minlength=len(shares))
    return np.asarray(result / result.sum())
