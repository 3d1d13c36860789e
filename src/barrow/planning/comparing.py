"""``compare``: all mechanisms for a question under EMD-DP, and ordinary user-level DP beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from barrow.errors import ParameterError
from barrow.numerics import Exact
from barrow.planning.candidates import Candidate
from barrow.planning.comparison import Comparison
from barrow.planning.histograms import HistogramTarget, histogram_candidates
from barrow.planning.linear import kept_errors
from barrow.planning.rivals import Asked, as_user_level, compared
from barrow.planning.rules import PaperRule, paper_rule_central, paper_rule_linear, paper_rule_local
from barrow.planning.simulate import Reference, reference_distribution
from barrow.planning.terms import Terms
from barrow.planning.user_level import released_user_level, user_level_errors, user_level_histograms
from barrow.policy import Policy
from barrow.policy.policy import PromiseLike
from barrow.privacy.definitions import positive, probability, to_model
from barrow.queries import Query, query_from_spec
from barrow.spaces import Space


def compare(
    space: Space,
    query: Mapping[str, Any] | Query,
    alpha: Exact | None = None,
    delta: Exact = 0,
    *,
    users: int,
    items: int | None = None,
    model: str = "central",
    promises: Policy | Sequence[PromiseLike] | None = None,
    epsilons: Sequence[Exact] = (),
    reference: Reference = "auto",
    noise: str = "auto",
    decode: str = "auto",
) -> Comparison:
    """All mechanisms that can answer ``query`` under (alpha, delta)-EMD-DP, and user-level DP beside them.

    User-level DP is at the smallest epsilon of the promises, which keeps all of them, at the worst case of the choice,
    and at every epsilon that is asked for.

    Args:
        space: The public space.
        query: What is asked; for a histogram the error is the EMD after decoding, otherwise a 95 % half width.
        alpha: Privacy loss per unit of EMD; by default the largest that keeps the promises.
        delta: By how much more often a guess may be right than epsilon says; 0 leaves pure guarantees.
        users: n, public.
        items: m, how many items each user holds, where that is public and the same for all; without it mechanisms that
            need it are left out.
        model: ``"central"``, ``"local"``, or ``"shuffle"`` (histograms).
        promises: (share, distance, epsilon), as texts or triples, or a policy; their changes head the columns.
        epsilons: More parameters of user-level DP to compare with.
        reference: The public distribution at which the error of a decoded histogram is predicted.
        noise: Of a histogram: ``"auto"``, ``"laplace"`` or ``"gaussian"``.
        decode: Of a histogram: ``"auto"`` or ``"nearest"``.

    >>> from barrow.spaces import Clustered
    >>> found = compare(Clustered.grid(5, 4, r=0.02), {"kind": "histogram"}, 25, users=10**4, epsilons=["0.5"])
    >>> found.choice.name, [rival.why for rival in found.rivals]
    ('tree', ['was asked for', 'has the same worst case'])
    """
    if isinstance(users, bool) or users is None or users < 2:
        raise ParameterError(f"users is {users!r}.", allowed="a whole number, 2 or more", fix="users=1000")
    slack = probability(delta)
    policy = promises if promises is None or isinstance(promises, Policy) else Policy(space, promises, delta=slack)
    if alpha is None and policy is None:
        raise ParameterError(
            "Neither promises nor alpha are given.", allowed="one of them", fix='promises=["1/30, 10 km, 0.5"]'
        )
    terms = Terms(space, users, delta=slack, model=to_model(model))
    if alpha is None and policy is not None:  # each mechanism at the largest alpha that keeps the promises
        terms = replace(terms, promises=policy.promises)
    else:
        terms = replace(terms, given=positive(alpha or 0, "alpha"))
    query = query if isinstance(query, Query) else query_from_spec(space, dict(query))
    if query.of_items:
        target = HistogramTarget(terms, reference_distribution(space, reference), items, noise, decode)
        asked = _histogram(target)
        own, cannot = histogram_candidates(target)
    else:
        asked = _linear(query, slack, users, model)
        own, cannot = _snapped(query, kept_errors(query, terms)), {}
    rate = own[0].guarantee.definition.parameters.get("alpha", terms.alpha)
    return compared(space, asked, own, rate, slack, policy=policy, epsilons=epsilons, cannot=cannot)


def _linear(query: Query, delta: Fraction, users: int, model: str) -> Asked:
    """A linear question: errors are half widths."""

    def others(epsilon: Fraction, itself: bool) -> list[Candidate]:
        return _snapped(query, user_level_errors(query, epsilon, delta, users=users, model=model))

    return Asked(query.description, "95 % half width of each value", query.unit, others, paper_rule_linear)


def _snapped(query: Query, found: list[Candidate]) -> list[Candidate]:
    """Snapping moves everybody's answer alike: without it a ratio of errors would flatter the smaller noise."""
    moved = query.snapping_upper if query.snapping_counted else 0.0
    return [replace(candidate, error=candidate.error + moved) for candidate in found]


def _histogram(target: HistogramTarget) -> Asked:
    """A histogram: errors are earth mover's distances after decoding."""
    terms, items = target.terms, target.items
    space, delta, users, model = terms.space, terms.delta, terms.users, terms.model.value
    # In the local model edge noise at alpha = epsilon is a competitor where there is a tree, and better than items.
    slow = items is not None and model != "central" and not (model == "local" and space.has_tree)

    def others(epsilon: Fraction, itself: bool) -> list[Candidate]:
        found = released_user_level(target, epsilon) or user_level_histograms(
            space,
            epsilon,
            delta,
            users=users,
            model=model,
            reference=target.reference,
            decode=target.decode,
        )
        return [*found, *_itself(target, epsilon)] if itself and slow else found

    def rule(epsilon: Fraction) -> PaperRule | None:
        if delta == 0 or items is None:
            return None
        sizes = {"items": space.items, "users_items": items}
        if model == "local":
            return paper_rule_local(epsilon, delta, **sizes)
        return paper_rule_central(epsilon, delta, **sizes, users=users)

    measure = "EMD between the decoded histogram and the truth, simulated at a public reference"
    return Asked("the histogram of people's items", measure, space.unit, others, rule, target.uniform_guess)


def _itself(target: HistogramTarget, epsilon: Fraction) -> list[Candidate]:
    """Randomised items at alpha = epsilon: user-level DP too, with the decoders that EMD-DP has on any space."""
    try:
        here = replace(target, terms=replace(target.terms, given=epsilon, promises=()))
        return [as_user_level(histogram_candidates(here, only="frequency")[0][0])]
    except ParameterError:
        return []
