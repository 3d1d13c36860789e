"""Putting a comparison together: at which epsilons user-level DP competes, with what, and where errors cross.

User-level DP is set to the epsilon that keeps every promise, the smallest that is asked, and to the worst case of the
chosen release. EMD-DP at alpha is user-level DP at the worst case of alpha, so it is one of the competitors itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from barrow.numerics import Exact, float_up
from barrow.planning.candidates import Candidate, best_first
from barrow.planning.comparison import ASKED, PROMISES, WORST, Change, Comparison, Rival
from barrow.planning.rules import PaperRule
from barrow.policy import Policy, describe_move
from barrow.privacy.definitions import positive
from barrow.spaces import Space

_LARGEST_ALPHA = 10_000.0


@dataclass(frozen=True)
class Asked:
    """What a comparison is about: words, and where competitors come from.

    Attributes:
        description: What is asked.
        measure: What errors are, in words.
        unit: Their unit.
        others: From an epsilon to the candidates of user-level DP; the second argument says whether EMD-DP itself at
            alpha = epsilon is to be among them where that takes a while.
        rule: From an epsilon to what the paper's rule says, or None.
        uniform_guess: What a guess without data errs by, for a histogram.
    """

    description: str
    measure: str
    unit: str
    others: Callable[[Fraction, bool], list[Candidate]]
    rule: Callable[[Fraction], PaperRule | None]
    uniform_guess: float | None = None


def compared(
    space: Space,
    asked: Asked,
    own: Sequence[Candidate],
    alpha: Fraction,
    delta: Fraction = Fraction(0),
    *,
    policy: Policy | None = None,
    epsilons: Sequence[Exact] = (),
    cannot: Mapping[str, str] | None = None,
) -> Comparison:
    """EMD-DP's candidates at ``alpha``, best first, beside user-level DP.

    Args:
        space: The public space.
        asked: What is asked, and where competitors come from.
        own: The candidates of EMD-DP, the most accurate first.
        alpha: What they were made for.
        delta: Of both.
        policy: The promises; user-level DP is set to their smallest epsilon.
        epsilons: More parameters of user-level DP.
        cannot: Why other mechanisms cannot answer.
    """
    return Comparison(
        asked.description,
        asked.measure,
        asked.unit,
        alpha,
        delta,
        f"{space.diameter:,.1f} {space.unit}" if space.unit else "largest distance",
        tuple(own),
        {} if cannot is None else cannot,
        tuple(_rival(asked, own, alpha, why, epsilon) for why, epsilon in _levels(policy, epsilons, own[0])),
        () if policy is None else tuple(_change(kept, space) for kept in policy.kept),
        asked.uniform_guess,
    )


def _levels(policy: Policy | None, epsilons: Sequence[Exact], choice: Candidate) -> list[tuple[str, Fraction]]:
    """Which epsilons of user-level DP to compare with, and why; each once."""
    wanted = [] if policy is None else [(PROMISES, min(promise.epsilon for promise in policy.promises))]
    wanted += [(ASKED, positive(epsilon, "epsilon")) for epsilon in epsilons]
    worst = choice.guarantee.epsilon_at(1)
    if 0.0 < worst < math.inf:
        wanted.append((WORST, Fraction(worst)))
    found: dict[Fraction, str] = {}
    for why, epsilon in wanted:
        if not any(abs(epsilon / known - 1) < Fraction(1, 10**6) for known in found):
            found[epsilon] = why
    return [(why, epsilon) for epsilon, why in found.items()]


def _rival(asked: Asked, own: Sequence[Candidate], alpha: Fraction, why: str, epsilon: Fraction) -> Rival:
    choice, others = own[0], asked.others(epsilon, why != WORST)
    # Whatever is at most epsilon for every change is user-level DP itself.
    known = [c for c in own if c.guarantee.epsilon_at(1) <= float(epsilon) * (1.0 + 1e-12)]
    found = best_first([*others, *(as_user_level(candidate) for candidate in known)])
    same = None if why == WORST else next((c for c in others if c.name == choice.name), None)
    crossing = None if same is None else crossover(choice, alpha, same, epsilon, found[0].error)
    return Rival(why, epsilon, tuple(found), crossing, asked.rule(epsilon))


def crossover(choice: Candidate, alpha: Fraction, same: Candidate, epsilon: Fraction, error: float) -> float | None:
    """From about which alpha on the chosen mechanism errs by less than ``error``, user-level DP at ``epsilon``.

    The mechanism's error is known at two values of alpha: at the one that was planned, and at the one whose worst case
    is epsilon, where it is one of the competitors. In between and beyond, ln(error) is taken as linear in ln(alpha).
    It is never below epsilon, where EMD-DP is user-level DP itself.

    Args:
        choice: The mechanism at ``alpha``.
        alpha: Where it was planned.
        same: The same mechanism at the worst case ``epsilon``.
        epsilon: The parameter of user-level DP.
        error: The error of the best competitor.
    """
    worst = choice.guarantee.epsilon_at(1)
    # The worst case is proportional to alpha: this alpha has epsilon as its worst case.
    first, second = float(epsilon) * float(alpha) / worst, float(alpha)
    least = max(float(epsilon), first)
    if error >= same.error:
        return least
    steps = math.log(second / first)
    if abs(steps) < 1e-9 or not choice.error > 0.0 or (same.error - choice.error) * steps <= 0.0:
        return None
    slope = math.log(choice.error / same.error) / steps
    found = first * math.exp(math.log(error / same.error) / slope)
    return max(found, least) if found <= _LARGEST_ALPHA else None


def as_user_level(made: Candidate) -> Candidate:
    """A candidate of EMD-DP as one of user-level DP, which it is by its worst case."""
    return replace(made, words=f"user-level: {made.words}, by its worst case")


def _change(kept: Any, space: Space) -> Change:
    share = float_up(kept.promise.share)
    return describe_move(kept.promise, space), float_up(kept.emd), share, float(kept.promise.epsilon)
