"""Sentences for the page: which promise decides, which can never matter, and what a grid costs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from barrow.numerics import float_up
from barrow.numerics.exact import PERCENT, at_most
from barrow.promises import CAP, Policy, odds_upper
from barrow.promises.policy import Satisfied
from barrow.questions import Answer
from barrow.questions.plan_text import period_unit, worst_alarm
from barrow.spaces import Space


def guess(epsilon: float, delta: float = 0.0) -> str:
    """What a 50 % guess can become at most, rounded up.

    >>> guess(0.2), guess(20)
    ('55 %', 'more than 99.9 %')
    """
    odds = odds_upper(epsilon, delta)
    return at_most(odds, PERCENT) if odds <= 0.999 else "more than 99.9 %"


def alarmed(answer: Answer) -> dict[str, Any] | None:
    """What is said of a worst case above 90 %, and the promise that caps it; None below."""
    text = worst_alarm(answer)
    unit = period_unit(answer)
    promise = dict(zip(("share", "distance", "epsilon"), CAP.split(", "), strict=True))
    promise |= {} if unit is None else {"scope": f"any {unit}"}
    return None if text is None else {"text": text, "promise": promise}


def guesses() -> list[dict[str, str]]:
    """The steps of a slider for promises, each with its epsilon and what a guess may become; from 50.3 % to 99.9 %."""
    results = []
    for k in range(57):
        epsilon = float(f"{10 ** (-2 + 0.05 * k):.2g}")
        results.append({"epsilon": f"{epsilon:g}", "guess": guess(epsilon)})
    return results


def promise_rows(policy: Policy, charges: Sequence[Fraction] | None) -> list[dict[str, Any]]:
    """For each promise what it asked for, what it gets, and whether it decides alpha."""
    rows, delta = [], float_up(policy.delta)
    for k, subset in enumerate(policy.satisfied):
        rows.append(
            {
                "asked": guess(float_up(subset.promise.epsilon), delta),
                "kept": guess(subset.epsilon_got, delta),
                "here": None if charges is None else guess(float_up(charges[k]), delta),
                "epsilon": f"{float_up(subset.promise.epsilon):.3g}",
                "decides": subset.binds,
                "note": note(policy, k),
            }
        )
    return rows


def note(policy: Policy, k: int) -> str:
    """Why a promise decides, changes nothing, or contradicts another, in a sentence.

    >>> from barrow.spaces import Line
    >>> policy = Policy(Line(0, 100, unit="km", step=1), ["all, 5 km, 0.5", "1/10, 5 km, 0.7"])
    >>> note(policy, 1)
    'It changes nothing: promise 1 is about at least as much and allows less.'
    """
    rows = policy.satisfied
    own = rows[k]
    same = [j for j, other in enumerate(rows) if j != k and other.emd == own.emd]
    for j in same:
        if rows[j].promise.epsilon != own.promise.epsilon:
            stricter = k if own.promise.epsilon < rows[j].promise.epsilon else j
            return (
                f"It contradicts promise {j + 1}, which is about the same change: the stricter one, promise "
                f"{stricter + 1}, is kept."
            )
        if j < k:
            return f"It says the same as promise {j + 1}."
    small = own.distance < 2 * policy.space.snapping_upper
    moved = _moved(policy.space)
    grid = f" Most of it is for the grid, which moves a record by up to {moved}: try a finer one." if small else ""
    if own.binds:
        return f"It decides α.{grid}"
    for j, other in enumerate(rows):
        if j != k and _includes(other, own) and other.promise.epsilon <= own.promise.epsilon:
            return f"It changes nothing: promise {j + 1} is about at least as much and allows less."
    return f"It is kept with room to spare: at most {guess(own.epsilon_got, float_up(policy.delta))}."


def _includes(larger: Satisfied, smaller: Satisfied) -> bool:
    return larger.promise.share >= smaller.promise.share and larger.distance >= smaller.distance


def _moved(space: Space) -> str:
    return at_most(space.snapping_upper * space.diameter, space.unit)


def grid_words(policy: Policy) -> str:
    """How fine the grid is, and what snapping to it costs.

    >>> from barrow.spaces import Discrete, Line
    >>> grid_words(Policy(Line(0, 100, unit="km", step=2), ["all, 5 km, 0.5"]))
    '51 cells. Snapping moves a record by at most 1.01 km; allowing for it takes at most 28.6 % of α.'
    >>> grid_words(Policy(Discrete(["a", "b"]), ["all, 1, 0.5"]))
    '2 items, and nothing is snapped.'
    """
    space = policy.space
    if not space.snapping_upper:
        return f"{space.items:,} items, and nothing is snapped."
    free = min(
        satisfied.promise.epsilon / (satisfied.promise.share * satisfied.distance) for satisfied in policy.satisfied
    )
    lost = float_up(1 - policy.alpha_exact / free)
    return (
        f"{space.items:,} cells. Snapping moves a record by at most {_moved(space)}; allowing for it takes at most "
        f"{at_most(max(lost, 0.0), PERCENT)} of α."
    )
