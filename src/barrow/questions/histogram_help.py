"""What a plan of a histogram chooses from and says, and what would help where it would be of little use."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from barrow import mechanisms
from barrow.numerics import float_up
from barrow.numerics.exact import at_most, near
from barrow.planning.after import too_coarse
from barrow.planning.candidates import Candidate
from barrow.planning.histograms import HistogramTarget, noise_within
from barrow.planning.simulate import simulate
from barrow.planning.user_level import released_user_level
from barrow.promises import Model
from barrow.questions.noise_words import about_words, stated_noise
from barrow.questions.prices import finer_words

if TYPE_CHECKING:
    from barrow.questions.histogram_answer import HistogramAnswer


class HistogramChoice(NamedTuple):
    """All that can answer, and what is chosen.

    Attributes:
        target: What is wanted.
        own: The candidates of EMD-DP that answer what is asked, best first.
        baselines: Those of user-level DP.
        result: All candidates of EMD-DP.
        cannot: Why others cannot answer.
        best: The most accurate one.
    """

    target: HistogramTarget
    own: tuple[Candidate, ...]
    baselines: tuple[Candidate, ...]
    result: tuple[Candidate, ...]
    cannot: Mapping[str, str]
    best: Candidate


_TIMES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)


def most_helpful(plan: HistogramAnswer) -> str:
    """The one change that would help most."""
    if plan.snapping_typical >= plan.decoded_error:
        return "Finer cells would help most: most of the error is snapping."
    if finer := finer_words(plan.terms):
        return finer
    times, error = plan.helped
    if times is None:
        return f"Even {_TIMES[-1]:,} times as many people would leave it at about {_sized(plan, error)}."
    local = plan.terms.model is Model.LOCAL  # there noise falls with the root of the number of people only
    looser = near(math.sqrt(times) if local else times, digits=2)
    words = f"{times:,} times as many people, or promises {looser} times looser,"
    return f"{words} would make it about {_sized(plan, error)}."


def more_people(plan: HistogramAnswer) -> tuple[int | None, float]:
    """How many times as many people would help, and the error with them; None and the error where none would."""
    worse = plan.error_most / plan.error if plan.error > 0.0 else 1.0
    error = plan.error
    for times in _TIMES:
        target = replace(plan.target, terms=replace(plan.terms, users=times * plan.terms.users))
        if plan.chosen.user_level:
            error = released_user_level(target, min(plan.terms.epsilons))[0].error
        else:
            decoded = simulate(noise_within(target, plan.mechanism.kind, quick=True), plan.target.reference, 2).decoded
            error = math.hypot(decoded, plan.snapping_typical)
        if error * worse < plan.uniform_guess / 2.0:
            return times, error
    return None, error


def too_coarse_words(plan: HistogramAnswer) -> list[str]:
    """A sentence where the released values will leave open how records lie between nodes, whatever the noise."""
    result = too_coarse(plan.target, plan.mechanism)
    if result is None:
        return []
    low, high = (_sized(plan, size) for size in result)
    return [
        f"Nodes are too coarse: the released values allow errors from {low} to {high}, depending on how records lie "
        f"between nodes. Wider cells or more report_values would tell more."
    ]


def answer_words(plan: HistogramAnswer) -> Iterator[str]:
    """The mechanism, the error before and after decoding, and the intervals: each line is made when it is shown."""
    chosen = plan.chosen
    whose = " on each person's report" if plan.terms.model is Model.LOCAL else ""
    yield f"Chosen    {chosen.name}: {chosen.words}, scale {near(float_up(stated_noise(plan.noise)[0]))}{whose}"
    off = about_words(plan.error, plan.error_most, plan.terms.space.unit)
    yield f"Error     the histogram is off by {off}, from the records as they are (EMD, predicted)"
    if plan.terms.space.snapping_upper:
        space = plan.terms.space
        moved, most = _sized(plan, plan.snapping_typical), _sized(plan, space.snapping_upper * space.diameter)
        yield (
            f"          noise and decoding {_sized(plan, plan.decoded_error)}, snapping {moved} (no record by more "
            f"than {most})"
        )
    if chosen.undecoded is not None:
        yield f"          before decoding {_sized(plan, chosen.undecoded)} are expected, whatever the data"
    if plan.target.decode == "nearest" and chosen.upper is not None:
        yield f"          at most {_sized(plan, chosen.upper)} after decoding on average, whatever the data"
    least = floors(plan)
    noise, method = least["noise"], least["method"]
    if noise is not None:
        yield f"          the noise is within {noise:.2g} times the best possible for this type of noise"
    if method is not None and method < 1e4:
        yield f"          the error is {method:.2g} times what any method must have in the worst case"
    _, widths = plan.mechanism.shares(np.zeros(plan.query.dimension))
    low, high = float(widths.min()), float(widths.max())
    each = f"± {at_most(high)}" if low > 0.99 * high else f"± {at_most(low)} to ± {at_most(high)}"
    if plan.reading is not None:
        wide = _sized(plan, plan.reading.half_width(plan.mechanism))
        yield f"Quantiles {plan.reading.what} ± {wide} (95 %) if items were spread uniformly; no further cost"
    yield f"Intervals the share of {plan.mechanism.family.outputs} {each} (95 %), released too"


def _sized(plan: HistogramAnswer, error: float) -> str:
    """An earth mover's distance with the space's unit."""
    return near(error, plan.terms.space.unit)


def floors(plan: HistogramAnswer) -> dict[str, float | None]:
    """The noise and the predicted error as multiples of what is least possible, for pure noise of a curator.

    ``noise``: at most so many times the least expected cost of any additive noise on the same outputs; ``method``:
    the predicted error against what every method errs by on some data; None where nothing is known.
    """
    alpha, users, built, space = getattr(plan.event, "alpha", None), plan.terms.users, plan.mechanism, plan.terms.space
    if plan.terms.model is not Model.CENTRAL or plan.noise.p is None or alpha is None:
        return {"noise": None, "method": None}
    noise = None
    if isinstance(built.noise, mechanisms.EdgeNoise):  # a drawn flow costs ``freedom`` times the scale
        noise = built.noise.plan.freedom / max(1, built.noise.plan.graph.nodes - 1)
    elif built.kind == "tree" and built.undecoded is not None and space.items > 1:
        noise = built.undecoded / mechanisms.noise_floor_lower(space.items, alpha, users=users)
    least = mechanisms.worst_case_floor_lower(space, alpha, users=users) * space.diameter
    return {"noise": noise, "method": plan.error / least if least > 0.0 else None}
