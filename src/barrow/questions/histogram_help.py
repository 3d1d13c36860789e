"""What would help a histogram that would be of little use, computed before anything is spent."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from barrow import planning
from barrow.numerics.exact import near
from barrow.planning.after import too_coarse
from barrow.planning.histograms import kept_noise
from barrow.planning.simulate import simulate
from barrow.privacy import Model

if TYPE_CHECKING:
    from barrow.questions.histogram import HistogramPlan

_MANY = 2000
_TIMES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)


def most_helpful(plan: HistogramPlan) -> str:
    """The one change that would help most."""
    if plan.snapping_typical >= plan.decoded_error:
        return "Finer cells would help most: most of the error is snapping."
    if plan.finer_words:
        return plan.finer_words
    local = plan.terms.model is Model.LOCAL  # there noise falls with the root of the number of people only
    draws = None if plan.space.items <= _MANY else 2
    worse = plan.error_most / plan.error if plan.error > 0.0 else 1.0
    error = plan.error
    for times in _TIMES:
        target = replace(plan.target, terms=replace(plan.terms, users=times * plan.terms.users))
        if plan.chosen.user_level:
            error = planning.released_user_level(target, min(plan.terms.epsilons))[0].error
        else:
            decoded = simulate(kept_noise(target, plan.made.kind), plan.target.reference, draws).decoded
            error = math.hypot(decoded, plan.snapping_typical)
        if error * worse < plan.uniform_guess / 2.0:
            looser = near(math.sqrt(times) if local else times, digits=2)
            words = f"{times:,} times as many people, or promises {looser} times looser,"
            return f"{words} would make it about {plan.sized(error)}."
    return f"Even {_TIMES[-1]:,} times as many people would leave it at about {plan.sized(error)}."


def too_coarse_words(plan: HistogramPlan) -> list[str]:
    """A sentence where the released values will leave open how records lie between nodes, whatever the noise."""
    found = too_coarse(plan.target, plan.made)
    if found is None:
        return []
    low, high = (plan.sized(size) for size in found)
    return [
        f"Nodes are too coarse: what is released fits errors from {low} to {high}, depending on how records lie "
        "between nodes. Wider cells, or more report_values, would say more."
    ]
