"""What anyone can learn about one person, as curves: of a policy, of a plan, of a release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from barrow.numerics import float_up
from barrow.promises import RecordMap, odds_upper
from barrow.questions.statement import PromiseFacts
from barrow.render.figures import BeliefBound, Curve, Figure, belief
from barrow.spaces import Space

_DRAWN = (
    (Fraction(1), "everything"),
    (Fraction(1, 2), "half of it"),
    (Fraction(1, 10), "1 in 10"),
    (Fraction(1, 50), "1 in 50"),
)
CERTAIN = 0.99995


def belief_figure(
    rows: Sequence[PromiseFacts],
    *,
    cost: Callable[[Fraction, Fraction], Fraction] | None,
    worst: float,
    unit: str,
    diameter: float,
    delta: float = 0.0,
    snapping: float = 0.0,
    records: RecordMap = RecordMap.CONTRACTION,
    certain: float = CERTAIN,
) -> Callable[[int], Figure] | None:
    """What a 50 % guess can become against how far elsewhere records had been; None if it can become certain.

    The curves are computed once; the result draws them at a width in pixels.

    Args:
        rows: What the promises get.
        cost: From the share of the items that move and how far, as a share of the diameter, to epsilon; None for
            user-level DP, which is the same for every change.
        worst: The epsilon, rounded up, if everything were different.
        unit: Of distances.
        diameter: How many units count as 1.
        delta: Of the release.
        snapping: How far snapping moves a record at most, in units.
        records: How records become items.
        certain: A guess is, above this.
    """
    top = odds_upper(worst, delta)
    if top > certain:
        return None
    reach = min(diameter, max([1.35 * row.distance for row in rows], default=0.15 * diameter) or diameter)
    far = np.linspace(0.0, reach, 17)
    if cost is None or records is RecordMap.FILTER:
        curves = [Curve("any change", far, np.full(len(far), top))]
    else:
        whole, rho = Fraction(diameter), Fraction(snapping) / Fraction(diameter)
        least = min([row.share for row in rows], default=0.02) / 2.0

        def odds(share: Fraction, x: float) -> float:
            epsilon = cost(*records.reach_upper(share, Fraction(x) / whole, rho))
            return odds_upper(min(float_up(epsilon), worst), delta)

        curves = [Curve(name, far, [odds(share, x) for x in far.tolist()]) for share, name in _DRAWN if share >= least]
    bounds = [
        BeliefBound(
            row.changed,
            row.distance,
            odds_upper(row.epsilon_promised, delta),
            min(odds_upper(row.epsilon, delta), top),
        )
        for row in rows
    ]
    return lambda width: belief(curves, bounds, worst=top, unit=unit or "of the largest distance", width=width)


def belief_on(
    space: Space,
    rows: Sequence[PromiseFacts],
    *,
    cost: Callable[[Fraction, Fraction], Fraction] | None,
    worst: float,
    delta: float,
    records: RecordMap,
    width: int,
    certain: float = CERTAIN,
) -> Figure | None:
    """The figure of what is about a space."""
    draw = belief_figure(
        rows, cost=cost, worst=worst, unit=space.unit, diameter=space.diameter, delta=delta,
        snapping=space.snapping_upper * space.diameter, records=records, certain=certain,
    )  # fmt: skip
    return None if draw is None else draw(width)
