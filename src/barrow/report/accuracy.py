"""Privacy against accuracy: what the error would be with other promises, other numbers of people, and user-level DP."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.figures import Curve, Figure, Here, growth, tradeoff
from barrow.numerics import float_up
from barrow.planning.candidates import Candidate, reasons
from barrow.planning.histograms import HistogramTarget, histogram_candidates
from barrow.planning.linear import linear_errors
from barrow.policy import describe_change, odds_upper
from barrow.privacy import Model
from barrow.progress import track
from barrow.questions import LinearPlan, Plan
from barrow.questions.histogram import HistogramPlan
from barrow.questions.quantile import QuantilePlan
from barrow.report.model import Picture

WIDE, NARROW = 720, 360
_TIMES = (1 / 30, 1 / 10, 1 / 3, 1.0, 3.0, 10.0, 30.0)
_GUESSES = (0.51, 0.52, 0.55, 0.6, 0.7, 0.8, 0.9, 0.99, 0.999)
_RIVAL = "user-level DP"
_QUICK = 5_000_000
"""Entries of a table up to which user-level DP is planned in milliseconds."""
_PREDICTED = "Predicted before the release, from public numbers only; no private value is in these curves."


def accuracy_of(plan: Plan | None, *, thorough: bool = False) -> tuple[list[str], list[Picture]]:
    """Sentences and figures about a plan; none where nothing is known.

    If ``thorough``, also what takes as long as planning: histograms at other alphas, user-level DP on large tables.
    """
    if isinstance(plan, HistogramPlan):
        return _histogram(plan, thorough)
    if not isinstance(plan, LinearPlan) or isinstance(plan, QuantilePlan) or plan.alpha is None:
        return [], []
    if plan.error != plan.half_width:  # what is made of the noisy values errs in its own way
        return [], []
    moved = plan.snapping if plan.snapping_included else 0.0
    delta, users, model = plan.delta, plan.terms.users, plan.terms.model.value

    def error(times: float) -> float:
        """The half width at so many times alpha: noise without delta scales exactly."""
        if plan.noise.p is not None:
            return plan.chosen.error / times + moved
        alpha = Fraction(plan.alpha or 1) * Fraction(times)
        return linear_errors(plan.query, alpha, delta, users=users, model=model, noise="gaussian")[0].error + moved

    quick = plan.query.table.sparse or plan.query.table.shape[0] * plan.query.dimension <= _QUICK
    level, words = _rival(plan, moved, quick or thorough)
    unit = "%" if plan.question.of_shares else plan.error_unit
    return _pictures(plan, error, level, words, unit, "95 % half width of each value")


def _histogram(plan: HistogramPlan, thorough: bool) -> tuple[list[str], list[Picture]]:
    lost = reasons(plan.candidates)
    texts = [f"{name}: {why}." for name, why in lost.items() if name != plan.chosen.name]
    guess = plan.uniform_guess
    texts.insert(0, f"A guess without any data would be off by {plan.sized(guess)} at the same public reference.")
    if not thorough or plan.alpha is None:
        return [_PREDICTED, *texts], []
    target, terms = plan.target, plan.terms
    rate = Fraction(terms.alpha)
    found: dict[float, float] = {1.0: plan.error}
    for times in track([t for t in _TIMES if 0.05 < t < 20 and t != 1.0], "simulating other alphas"):
        here = replace(target, terms=replace(terms, promises=(), given=rate * Fraction(times), fraction=Fraction(1)))
        try:
            found[times] = _error_at(here, plan.made.kind)
        except ParameterError:
            continue
    level, words = _rival(plan, 0.0, True)
    unit, what = plan.space.unit, "earth mover's distance after decoding"
    said, pictures = _pictures(plan, found.__getitem__, level, words, unit, what, times=sorted(found), others=False)
    return [*said, *texts], pictures


def _rival(plan: LinearPlan, moved: float, looked_for: bool) -> tuple[float | None, str]:
    """The error of user-level DP that keeps the same promises, and its name."""
    found: Sequence[Candidate] = plan.rivals
    if plan.terms.promises and not found and looked_for:
        found = plan.by_user_level(min(plan.terms.epsilons))
    if not found:
        return None, ""
    return found[0].error + moved, f"{_RIVAL}, ε = {found[0].guarantee.epsilon_at(1):.3g}"


def _error_at(target: HistogramTarget, kind: str) -> float:
    return histogram_candidates(target, only=kind)[0][0].error


def _pictures(
    plan: Plan,
    error: Callable[[float], float],
    level: float | None,
    words: str,
    unit: str,
    what: str,
    *,
    times: Sequence[float] = _TIMES,
    others: bool = True,
) -> tuple[list[str], list[Picture]]:
    alpha, people = float_up(plan.alpha or Fraction(0)), plan.terms.users
    alphas, errors = np.array([alpha * t for t in times]), np.array([error(t) for t in times])
    if not (errors > 0).all() or not np.isfinite(errors).all() or plan.error <= 0:
        return [], []
    # The mean of local reports falls with the root of their number.
    root = 0.5 if plan.terms.model is Model.LOCAL else 1.0
    curves = [Curve("this study", alphas, errors)]
    if level is not None and level > 0:
        curves.append(Curve(_RIVAL, alphas, np.full(len(alphas), level)))
    if others:
        for factor in (0.1, 10.0):
            count = max(1, round(people * factor))
            curves.append(Curve(f"{count:,} people", alphas, errors / factor**root, style="faint"))
    here = Here("this study", alpha, plan.error)
    guesses, promise = _guesses(plan, alpha)

    def draw(width: int) -> Figure:
        return tradeoff(curves, here=here, guesses=guesses, promise=promise, unit=unit, error=what, width=width)

    texts = [_PREDICTED]
    if level is not None and level > 0:
        texts.append(_compared(level / plan.error, words))
    pictures = [Picture(draw(WIDE), "Right and down is more accurate, left is more private.", draw(NARROW))]
    if others:
        pictures.append(_grown(plan, level, words, unit, what, root))
    return texts, pictures


def _compared(ratio: float, words: str) -> str:
    if ratio >= 1.05:
        return f"Ordinary {words}, which keeps the same promises, would have {ratio:.2g} times the error."
    if ratio > 1 / 1.05:
        return f"Ordinary {words}, which keeps the same promises, would have about the same error."
    return f"Ordinary {words}, which keeps the same promises, has {1 / ratio:.2g} times **less** error."


def _grown(plan: Plan, level: float | None, words: str, unit: str, what: str, root: float) -> Picture:
    """The error by the number of people; snapping aside, which stays."""
    people = plan.terms.users
    numbers = np.geomspace(max(1.0, people / 30), people * 30.0, 24)
    fall = (numbers / people) ** -root
    curves = [Curve("this study", numbers, plan.error * fall)]
    if level is not None and level > 0:
        curves.append(Curve(_RIVAL, numbers, level * fall))

    def draw(width: int) -> Figure:
        return growth(curves, here=Here("this study", people, plan.error), unit=unit, error=what, width=width)

    return Picture(draw(WIDE), "The more people, the less noise in each value.", draw(NARROW))


def _guesses(plan: Plan, alpha: float) -> tuple[list[tuple[float, float]], str]:
    """Alphas at which the deciding promise lets a 50 % guess become so much."""
    if not plan.terms.promises:
        return [], ""
    pairs: list[tuple[Any, float]] = [
        (promise, float_up(paid) / float(granted))
        for promise, paid, granted in zip(plan.terms.promises, plan.charges(), plan.terms.epsilons, strict=True)
    ]
    promise, _ = max(pairs, key=lambda pair: pair[1])
    epsilon = float_up(plan.charges()[[p for p, _ in pairs].index(promise)])
    if epsilon <= 0:
        return [], ""
    words = describe_change(promise, plan.space)
    # A hair below where the guess becomes this much, so that it is still a bound there.
    found = [(alpha * math.log(odds / (1 - odds)) / epsilon * (1 - 1e-9), odds) for odds in _GUESSES]
    return [(a, max(odds, odds_upper(epsilon * a / alpha))) for a, odds in found], words
