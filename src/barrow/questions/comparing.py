"""An answer beside the other definition, EMD-DP or user-level DP, by what it is chosen by: all say the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch
from typing import Protocol

from barrow import planning
from barrow.numerics import Exact
from barrow.planning.candidates import BaselineComparison, Candidate, baseline_comparison
from barrow.planning.rules import paper_rule_linear
from barrow.planning.terms import Terms
from barrow.promises import Promise
from barrow.queries import Query
from barrow.questions.answer import Answer
from barrow.questions.estimates import estimate
from barrow.questions.question import Question, public_items


@singledispatch
def comparison_of(answer: Answer) -> BaselineComparison | None:
    """What is released beside the best of the other definition; None if nothing is, by the type of the answer."""
    return None


_QUICK = 5_000_000
"""Entries of a table up to which user-level DP is planned in milliseconds."""
Given = Mapping[str, object]
"""What somebody who compares says in place of the question: items, reference."""


@singledispatch
def question_compared(
    question: Question, terms: Terms, promises: Sequence[Promise], epsilons: Sequence[Exact], given: Given
) -> planning.Comparison:
    """All mechanisms that keep the terms beside user-level DP: of a histogram by default; by the type of the question.

    Args:
        question: What is asked.
        terms: What is kept.
        promises: The promises; user-level DP is set to their smallest epsilon.
        epsilons: More parameters of user-level DP.
        given: What goes before the question's own options.
    """
    return histograms_compared(terms, promises, epsilons, {"items": public_items(question), **given})


def histograms_compared(
    terms: Terms, promises: Sequence[Promise], epsilons: Sequence[Exact], options: Mapping[str, object]
) -> planning.Comparison:
    """All histograms that keep the terms beside user-level DP."""
    return planning.compare(
        terms.space,
        {"kind": "histogram"},
        alpha=None if promises else terms.alpha,
        delta=terms.delta,
        users=terms.users,
        model=terms.model,
        parties=terms.parties,
        promises=terms.policy_of(promises),
        epsilons=epsilons,
        **options,  # type: ignore[arg-type]  # items, reference, noise and decode, by name
    )


class Ranked(Protocol):
    """An answer that was chosen among candidates."""

    @property
    def terms(self) -> Terms:
        """What is kept."""

    @property
    def chosen(self) -> Candidate:
        """What is released."""

    @property
    def own(self) -> tuple[Candidate, ...]:
        """The candidates of EMD-DP, best first."""

    @property
    def baselines(self) -> tuple[Candidate, ...]:
        """Those of user-level DP at the largest epsilon that keeps every promise."""

    def by_emd(self, terms: Terms) -> Sequence[Candidate]:
        """The candidates of EMD-DP that keep other terms."""

    def by_user_level(self, epsilon: Fraction) -> Sequence[Candidate]:
        """Those of user-level DP at an epsilon."""


@singledispatch
def baseline_error(answer: Answer, thorough: bool) -> tuple[float, float] | None:
    """The error and the epsilon of user-level DP that keeps the same promises; None where it is not known."""
    return None


def user_level_error(ranked: Ranked, query: Query, thorough: bool) -> tuple[float, float] | None:
    """The best of user-level DP at the same promises; on large tables it is looked for if ``thorough``."""
    candidates: Sequence[Candidate] = ranked.baselines
    quick = thorough or query.table.sparse or query.table.shape[0] * query.dimension <= _QUICK
    if ranked.terms.promises and not candidates and quick:
        candidates = ranked.by_user_level(min(ranked.terms.epsilons))
    return (candidates[0].error, candidates[0].guarantee.epsilon_at(1)) if candidates else None


def versus_of(answer: Ranked, snapping: float = 0.0) -> BaselineComparison | None:
    """What is released beside the best of the other definition, each with what snapping adds."""
    return baseline_comparison(
        answer.terms,
        answer.chosen,
        answer.own,
        answer.baselines,
        emd=answer.by_emd,
        user_level=answer.by_user_level,
        snapping=snapping,
    )


def compared_plan(
    answer: Answer, ranked: Ranked, promises: Sequence[Promise], epsilons: Sequence[Exact]
) -> planning.Comparison:
    """All that could answer in place of a linear answer, by the error that people get.

    Args:
        answer: The answer.
        ranked: The same, with its candidates.
        promises: The promises; user-level DP is set to their smallest epsilon.
        epsilons: More parameters of user-level DP.
    """
    terms = answer.terms
    own = _got(answer, ranked.own or ranked.by_emd(terms))

    def others(epsilon: Fraction, itself: bool) -> list[Candidate]:
        subset = ranked.baselines if terms.promises and epsilon == min(terms.epsilons) else ()
        return _got(answer, subset or ranked.by_user_level(epsilon))

    request = planning.ComparisonRequest(
        answer.description, "95 % half width of each value", answer.error_unit, others, paper_rule_linear
    )
    rate = own[0].guarantee.definition.parameters.get("alpha", terms.alpha)
    return planning.compared(
        terms.space, request, own, rate, terms.delta, policy=terms.policy_of(promises), epsilons=epsilons
    )


def _got(answer: Answer, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Snapping moves everybody's answer alike: without it a ratio of errors would flatter the smaller noise."""
    at = estimate(answer).at
    return [replace(one, error=at(one.error)) for one in candidates]
