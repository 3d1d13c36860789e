"""An answer beside the other definition, EMD-DP or user-level DP, by what it is chosen by: all say the same numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, singledispatch

from barrow import planning
from barrow.numerics import Exact
from barrow.planning.candidates import BaselineComparison, Candidate, baseline_comparison
from barrow.planning.rules import paper_rule_linear
from barrow.planning.terms import Terms
from barrow.promises import Guarantee, Model, Promise
from barrow.queries import Query
from barrow.questions.answer import Answer
from barrow.questions.estimates import estimate
from barrow.questions.question import Question, public_items

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
    terms: Terms, promises: Sequence[Promise], epsilons: Sequence[Exact], options: Given
) -> planning.Comparison:
    """All histograms that keep the terms beside user-level DP, each at the largest alpha that keeps the promises."""
    policy = terms.policy_of(promises)
    kept = Terms(terms.space, terms.users, delta=terms.delta, model=terms.model, parties=terms.parties)
    if policy is None:
        kept = replace(kept, given=terms.alpha)
    else:
        kept = replace(kept, promises=policy.promises, records=policy.records)
    own = dict(options)
    guess = planning.reference_distribution(terms.space, own.pop("reference", "auto"))
    target = planning.HistogramTarget(kept, guess, **own)  # type: ignore[arg-type]  # items, noise and decode
    return planning.compare_histograms(target, policy, epsilons)


@dataclass(frozen=True, eq=False)
class RankedAnswer(Answer):
    """An answer that was chosen among candidates, those of EMD-DP and those of user-level DP.

    Args:
        question: What is asked.
        terms: What the study grants.
        chosen: What is released: the most accurate candidate that keeps the terms.
        own: The candidates of EMD-DP, best first.
        baselines: Those of user-level DP at the largest epsilon that keeps every promise.
    """

    question: Question
    terms: Terms
    chosen: Candidate
    own: tuple[Candidate, ...] = field(default=(), kw_only=True)
    baselines: tuple[Candidate, ...] = field(default=(), kw_only=True)

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """What it promises, with the worst case."""
        return self.chosen.guarantee

    @cached_property
    def comparison(self) -> BaselineComparison | None:
        """What is released beside the best of the other definition, EMD-DP or user-level DP."""
        return compare_definitions(self)

    @abstractmethod
    def by_emd(self, terms: Terms) -> Sequence[Candidate]:
        """The candidates of EMD-DP that keep other terms."""

    @abstractmethod
    def by_user_level(self, epsilon: Fraction) -> Sequence[Candidate]:
        """Those of user-level DP at an epsilon."""


def comparison_of(answer: Answer) -> BaselineComparison | None:
    """What is released beside the best of the other definition; None if nothing is."""
    return answer.comparison if isinstance(answer, RankedAnswer) else None


def against(answer: Answer) -> list[str]:
    """The line of a plan that says so."""
    beside = comparison_of(answer)
    return [] if beside is None else [f"Against   {beside.line}"]


@singledispatch
def baseline_error(answer: Answer, thorough: bool) -> tuple[float, float] | None:
    """The error and the epsilon of user-level DP that keeps the same promises; None where it is not known."""
    return None


@singledispatch
def by_user_level(answer: Answer) -> tuple[Answer, float] | None:
    """The same answer by the best of user-level DP that keeps the same promises, and its epsilon; None where unknown.

    None too where user-level DP is what was chosen. It is a thing to draw, never one to pay for.
    """
    return None


@by_user_level.register(RankedAnswer)
def _(answer: RankedAnswer) -> tuple[Answer, float] | None:
    if answer.chosen.user_level or not answer.baselines:
        return None
    best = answer.baselines[0]
    return replace(answer, chosen=best), best.guarantee.epsilon_at(1)


def user_level_error(ranked: RankedAnswer, query: Query, thorough: bool) -> tuple[float, float] | None:
    """The best of user-level DP at the same promises; on large tables it is looked for if ``thorough``."""
    candidates: Sequence[Candidate] = ranked.baselines
    if ranked.terms.model is Model.AGGREGATED:  # there it is EMD-DP at alpha = epsilon
        return None
    quick = thorough or query.table.sparse or query.table.shape[0] * query.dimension <= _QUICK
    if ranked.terms.promises and not candidates and quick:
        candidates = ranked.by_user_level(min(ranked.terms.epsilons))
    return (candidates[0].error, candidates[0].guarantee.epsilon_at(1)) if candidates else None


def compare_definitions(answer: RankedAnswer, snapping: float = 0.0) -> BaselineComparison | None:
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
    question: Question, terms: Terms, promises: Sequence[Promise], epsilons: Sequence[Exact], given: Given
) -> planning.Comparison:
    """:func:`question_compared` by what the plan itself is chosen by, so that both say the same numbers."""
    answer = question.plan(terms)
    if not isinstance(answer, RankedAnswer):
        return histograms_compared(terms, promises, epsilons, given)
    own = _got(answer, answer.own or answer.by_emd(terms))

    def others(epsilon: Fraction, itself: bool) -> list[Candidate]:
        subset = answer.baselines if terms.promises and epsilon == min(terms.epsilons) else ()
        return _got(answer, subset or answer.by_user_level(epsilon))

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
