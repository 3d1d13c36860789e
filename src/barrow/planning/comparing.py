"""A comparison: all mechanisms for a question under EMD-DP, and ordinary user-level DP beside them.

User-level DP is set to the epsilon that keeps every promise, the smallest that is asked, and to the worst case of the
chosen release; where errors cross is said too. EMD-DP at alpha is user-level DP at the worst case of alpha, so it is
one of the competitors itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from barrow.errors import ParameterError
from barrow.numerics import Exact
from barrow.planning.candidates import Candidate, best_first
from barrow.planning.comparison import PROMISES, REQUEST, WORST, Baseline, Change, Comparison
from barrow.planning.histograms import HistogramTarget, histogram_candidates
from barrow.planning.rules import PaperRule, paper_rule_central, paper_rule_local
from barrow.planning.user_level import released_user_level, user_level_histograms
from barrow.promises import Model, Policy, describe_move
from barrow.promises.definitions import positive
from barrow.promises.policy import Satisfied
from barrow.spaces import Space

_LARGEST_ALPHA = 10_000.0
Competitors = Callable[[Fraction, bool], Sequence[Candidate]]
"""From an epsilon to the candidates of user-level DP, and whether with what takes a while."""


def compare_histograms(
    target: HistogramTarget, policy: Policy | None = None, epsilons: Sequence[Exact] = ()
) -> Comparison:
    """All histograms that keep the target's terms, and user-level DP beside them.

    User-level DP is at the smallest epsilon of the promises, which keeps all of them, at the worst case of the choice,
    and at every epsilon that is asked for.

    Args:
        target: What is wanted; errors are earth mover's distances after decoding at its reference.
        policy: The promises; their changes head the columns.
        epsilons: More parameters of user-level DP to compare with.

    >>> import numpy as np
    >>> from barrow.planning.terms import Terms
    >>> from barrow.spaces import Clustered
    >>> space = Clustered.grid(5, 4, r=0.02)
    >>> target = HistogramTarget(Terms(space, 10**4, given=Fraction(25)), np.full(20, 0.05))
    >>> result = compare_histograms(target, epsilons=["0.5"])
    >>> result.choice.name, [baseline.why for baseline in result.baselines]
    ('tree', ['was asked for', 'has the same worst case'])
    """
    terms, items, (own, cannot) = target.terms, target.items, histogram_candidates(target)
    space, delta, users, model = terms.space, terms.delta, terms.users, terms.model
    # In the local model edge noise at alpha = epsilon is a competitor where there is a tree, and better than items.
    slow = items is not None and model != Model.CENTRAL and not (model == Model.LOCAL and space.geometry.has_tree)

    def others(epsilon: Fraction, itself: bool) -> list[Candidate]:
        if model is Model.AGGREGATED:  # EMD-DP at alpha = epsilon
            here = replace(target, terms=replace(terms, given=epsilon, promises=()))
            return [as_user_level(one) for one in histogram_candidates(here)[0]]
        result = released_user_level(target, epsilon, own) or user_level_histograms(
            space,
            epsilon,
            delta,
            users=users,
            model=model,
            reference=target.reference,
            decode=target.decode,
        )
        return [*result, *_itself(target, epsilon)] if itself and slow else result

    def rule(epsilon: Fraction) -> PaperRule | None:
        if delta == 0 or items is None:
            return None
        sizes = {"items": space.items, "users_items": items}
        if model == Model.LOCAL:
            return paper_rule_local(epsilon, delta, **sizes)
        return paper_rule_central(epsilon, delta, **sizes, users=users)

    comparison = Comparison(
        "the histogram of people's items",
        "EMD between the decoded histogram and the truth, simulated at a public reference",
        space.unit,
        own[0].guarantee.definition.parameters.get("alpha", terms.alpha),
        delta,
        largest_words(space),
        tuple(own),
        cannot,
        uniform_guess=target.uniform_guess,
    )
    return beside_user_level(comparison, space, others, rule, policy, epsilons)


def _itself(target: HistogramTarget, epsilon: Fraction) -> list[Candidate]:
    """Randomised items at alpha = epsilon: user-level DP too, with the decoders that EMD-DP has on any space."""
    try:
        here = replace(target, terms=replace(target.terms, given=epsilon, promises=()))
        return [as_user_level(histogram_candidates(here, only="frequency")[0][0])]
    except ParameterError:
        return []


def largest_words(space: Space) -> str:
    """The largest distance, which alpha is per."""
    return f"{space.diameter:,.1f} {space.unit}" if space.unit else "largest distance"


def beside_user_level(
    comparison: Comparison,
    space: Space,
    others: Competitors,
    rule: Callable[[Fraction], PaperRule | None],
    policy: Policy | None = None,
    epsilons: Sequence[Exact] = (),
) -> Comparison:
    """A comparison of EMD-DP's candidates, with user-level DP beside them.

    Args:
        comparison: What is asked, and the candidates of EMD-DP, the most accurate first.
        space: The public space.
        others: From an epsilon to the candidates of user-level DP; the second argument says whether EMD-DP itself at
            alpha = epsilon is to be among them where that takes a while.
        rule: From an epsilon to what the paper's rule says, or None.
        policy: The promises; user-level DP is set to their smallest epsilon.
        epsilons: More parameters of user-level DP.

    >>> from barrow.planning.linear import errors_within, user_level_errors
    >>> from barrow.planning.terms import Terms
    >>> from barrow.queries import mean
    >>> from barrow.spaces import Line
    >>> query = mean(Line(0, 1, step="0.1"))
    >>> own = tuple(errors_within(query, Terms(query.space, 100, given=Fraction(5))))
    >>> alone = Comparison("the mean", "half width", "km", Fraction(5), Fraction(0), "largest distance", own, {})
    >>> others = lambda epsilon, itself: user_level_errors(query, epsilon, users=100)
    >>> beside_user_level(alone, query.space, others, lambda epsilon: None, epsilons=[1]).baselines[0].epsilon
    Fraction(1, 1)
    """
    levels = _levels(policy, epsilons, comparison.choice)
    return replace(
        comparison,
        baselines=tuple(
            _baseline(comparison, others(epsilon, why != WORST), rule, why, epsilon) for why, epsilon in levels
        ),
        changes=() if policy is None else tuple(_change(satisfied, space) for satisfied in policy.satisfied),
    )


def _levels(policy: Policy | None, epsilons: Sequence[Exact], choice: Candidate) -> list[tuple[str, Fraction]]:
    """Which epsilons of user-level DP to compare with, and why; each once."""
    wanted = [] if policy is None else [(PROMISES, min(promise.epsilon for promise in policy.promises))]
    wanted += [(REQUEST, positive(epsilon, "epsilon")) for epsilon in epsilons]
    worst = choice.guarantee.epsilon_at(1)
    if 0.0 < worst < math.inf:
        wanted.append((WORST, Fraction(worst)))
    result: dict[Fraction, str] = {}
    for why, epsilon in wanted:
        if not any(abs(epsilon / known - 1) < Fraction(1, 10**6) for known in result):
            result[epsilon] = why
    return [(why, epsilon) for epsilon, why in result.items()]


def _baseline(
    comparison: Comparison,
    others: Sequence[Candidate],
    rule: Callable[[Fraction], PaperRule | None],
    why: str,
    epsilon: Fraction,
) -> Baseline:
    own, choice = comparison.candidates, comparison.choice
    # Whatever is at most epsilon for every change is user-level DP itself.
    known = [c for c in own if c.guarantee.epsilon_at(1) <= float(epsilon) * (1.0 + 1e-12)]
    result = best_first([*others, *(as_user_level(candidate) for candidate in known)])
    same = None if why == WORST else next((c for c in others if c.name == choice.name), None)
    crossing = None if same is None else crossover(choice, comparison.alpha, same, epsilon, result[0].error)
    return Baseline(why, epsilon, tuple(result), crossing, rule(epsilon))


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
    result = first * math.exp(math.log(error / same.error) / slope)
    return max(result, least) if result <= _LARGEST_ALPHA else None


def as_user_level(candidate: Candidate) -> Candidate:
    """A candidate of EMD-DP as one of user-level DP, which it is by its worst case."""
    return replace(candidate, words=f"user-level: {candidate.words}, by its worst case")


def _change(satisfied: Satisfied, space: Space) -> Change:
    return describe_move(satisfied.promise, space), satisfied.share, satisfied.reach, float(satisfied.promise.epsilon)
