"""What anyone can learn about one person, as curves: from alpha, the worst case and the promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from barrow.figures import Curve, Figure, Kept, belief
from barrow.policy.odds import odds_upper

_SHARES = ((1.0, "everything"), (0.5, "half of it"), (0.1, "1 in 10"), (0.02, "1 in 50"))
_CERTAIN = 0.99995
_TINY = 1.0 + 1e-12


@dataclass(frozen=True)
class Change:
    """A promise in numbers.

    Attributes:
        words: What had been different.
        share: Of one person's data.
        distance: How far elsewhere, in the space's unit.
        asked: The epsilon that was promised.
        kept: The epsilon that it gets, rounded up.
    """

    words: str
    share: float
    distance: float
    asked: float
    kept: float


def belief_figure(
    changes: Sequence[Change],
    *,
    alpha: float | None,
    worst: float,
    unit: str,
    diameter: float,
    snapping: float = 0.0,
    most: float = 1.0,
    width: int = 720,
) -> Figure | None:
    """What a 50 % guess can become against how far elsewhere records had been; None if it can become certain.

    Args:
        changes: The promises.
        alpha: Rounded up; None for user-level DP, which is the same for every change.
        worst: The epsilon, rounded up, if everything were different.
        unit: Of distances.
        diameter: How many units count as 1.
        snapping: How far snapping moves a record at most, in units.
        most: No move of an item counts for more than this, as a share of the diameter.
        width: In pixels.
    """
    top = odds_upper(worst)
    if top > _CERTAIN:
        return None
    reach = min(diameter, max([1.35 * change.distance for change in changes], default=0.15 * diameter) or diameter)
    far = np.linspace(0.0, reach, 64)
    if alpha is None:
        curves = [Curve("any change", far, np.full(len(far), top))]
    else:
        moved = np.minimum((far + 2.0 * snapping) / diameter, most)
        least = min([change.share for change in changes], default=0.02) / 2.0
        curves = [
            Curve(name, far, [odds_upper(min(float(x) * alpha * share * _TINY, worst)) for x in moved])
            for share, name in _SHARES
            if share >= least
        ]
    kept = [Kept(c.words, c.distance, odds_upper(c.asked), min(odds_upper(c.kept), top)) for c in changes]
    return belief(curves, kept, worst=top, unit=unit or "of the largest distance", width=width)
