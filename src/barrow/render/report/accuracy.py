"""Privacy against accuracy: what the error would be with other promises, other numbers of people, and user-level DP."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from barrow.numerics import float_up
from barrow.planning.candidates import ErrorRatio
from barrow.planning.notes import Severity, texts
from barrow.promises import Model, describe_change, odds_epsilon, odds_upper
from barrow.questions import Answer
from barrow.questions.comparing import baseline_error
from barrow.questions.estimates import errors_at, estimate
from barrow.questions.plan_text import own_notes
from barrow.questions.prices import charges
from barrow.render.figures import Curve, Figure, Here, growth, tradeoff
from barrow.render.report.page import Picture

WIDE, NARROW = 720, 360
_TIMES = (1 / 30, 1 / 10, 1 / 3, 1.0, 3.0, 10.0, 30.0)
_GUESSES = (0.51, 0.52, 0.55, 0.6, 0.7, 0.8, 0.9, 0.99, 0.999)
_BASELINE = "user-level DP"
_PREDICTED = "Predicted before the release, from public numbers only; no private value is in these curves."


def accuracy_of(plan: Answer | None, *, thorough: bool = False) -> tuple[list[str], list[Picture]]:
    """Sentences and figures about a plan; none where nothing is known.

    If ``thorough``, also what takes as long as planning: histograms at other alphas, user-level DP on large tables.
    """
    if plan is None:
        return [], []
    remarks, errors = texts(own_notes(plan), Severity.REMARK), errors_at(plan, _TIMES, thorough)
    known = [*errors.values(), plan.error] if errors else [0.0]
    if not all(0.0 < error < math.inf for error in known):
        return [_PREDICTED, *remarks] if remarks else [], []
    text, pictures = _pictures(plan, errors, baseline_error(plan, thorough))
    return [*text, *remarks], pictures


def _pictures(
    plan: Answer, errors: Mapping[float, float], baseline: tuple[float, float] | None
) -> tuple[list[str], list[Picture]]:
    times = sorted(errors)
    level, words = (None, "") if baseline is None else (baseline[0], f"{_BASELINE}, ε = {baseline[1]:.3g}")
    unit = "%" if plan.question.traits.in_percent else plan.error_unit
    scales = estimate(plan).scales
    each = "of the mean" if plan.question.traits.first_drawn else "of each value"
    what = f"{plan.question.traits.error_words} {each if scales else 'after decoding'}"
    alpha, people = float_up(plan.alpha or Fraction(0)), plan.terms.users
    alphas, sizes = np.array([alpha * t for t in times]), np.array([errors[t] for t in times])
    # The mean of local reports falls with the root of their number.
    root = 0.5 if plan.terms.model is Model.LOCAL else 1.0
    curves = [Curve("this study", alphas, sizes)]
    if level is not None and level > 0:
        curves.append(Curve(_BASELINE, alphas, np.full(len(alphas), level)))
    if scales:
        for factor in (0.1, 10.0):
            count = max(1, round(people * factor))
            curves.append(Curve(f"{count:,} people", alphas, sizes / factor**root, style="faint"))
    here = Here("this study", alpha, plan.error)
    guesses, promise = _guesses(plan, alpha)

    def draw(width: int) -> Figure:
        return tradeoff(curves, here=here, guesses=guesses, promise=promise, unit=unit, error=what, width=width)

    texts = [_PREDICTED]
    if level is not None and level > 0 and plan.error > 0:
        texts.append(_compared(ErrorRatio(plan.error, level), words))
    pictures = [Picture(draw(WIDE), "Right and down is more accurate, left is more private.", draw(NARROW))]
    if scales:
        pictures.append(_grown(plan, level, words, unit, what, root))
    return texts, pictures


def _compared(ratio: ErrorRatio, words: str) -> str:
    verb = "has" if ratio.value < 1.0 and not ratio.alike else "would have"
    return f"Ordinary {words}, which keeps the same promises, {verb} {ratio.words.replace('less', '**less**')}."


def _grown(plan: Answer, level: float | None, words: str, unit: str, what: str, root: float) -> Picture:
    """The error by the number of people; snapping aside, which stays."""
    people = plan.terms.users
    numbers = np.geomspace(max(1.0, people / 30), people * 30.0, 24)
    fall = (numbers / people) ** -root
    curves = [Curve("this study", numbers, plan.error * fall)]
    if level is not None and level > 0:
        curves.append(Curve(_BASELINE, numbers, level * fall))

    def draw(width: int) -> Figure:
        return growth(curves, here=Here("this study", people, plan.error), unit=unit, error=what, width=width)

    return Picture(draw(WIDE), "The more people, the less noise in each value.", draw(NARROW))


def _guesses(plan: Answer, alpha: float) -> tuple[list[tuple[float, float]], str]:
    """Alphas at which the deciding promise lets a 50 % guess become so much."""
    if not plan.terms.promises:
        return [], ""
    pairs: list[tuple[Any, float]] = [
        (promise, float_up(paid) / float(granted))
        for promise, paid, granted in zip(plan.terms.promises, charges(plan), plan.terms.granted, strict=True)
    ]
    promise, _ = max(pairs, key=lambda pair: pair[1])
    epsilon = float_up(charges(plan)[[p for p, _ in pairs].index(promise)])
    if epsilon <= 0:
        return [], ""
    words = describe_change(promise, plan.terms.space)
    # A hair below where the guess becomes this much, so that it is still a bound there.
    delta = float_up(plan.guarantee.delta)
    results = [(alpha * odds_epsilon(odds, delta) / epsilon, odds) for odds in _GUESSES]
    return [(a, max(odds, odds_upper(epsilon * a / alpha, delta))) for a, odds in results if a > 0.0], words
