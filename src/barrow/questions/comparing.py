"""An answer beside the other definition, EMD-DP or user-level DP, by what it is chosen by: all say the same numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, singledispatch

from barrow.errors import ParameterError
from barrow.planning.candidates import BaselineComparison, Candidate, best_first
from barrow.planning.terms import Terms
from barrow.promises import Guarantee, Model, Promise
from barrow.queries import Query
from barrow.questions.answer import Answer
from barrow.questions.question import Question

_QUICK = 5_000_000
"""Entries of a table up to which user-level DP is planned in milliseconds."""


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

    def ranked(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """Candidates by the error that people are told, best first; as they are by default."""
        return candidates

    def told(self, error: float) -> float:
        """The error of a candidate as people are told it, with what snapping adds where it is no part of it."""
        return error

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
    return (ranked.told(candidates[0].error), candidates[0].guarantee.epsilon_at(1)) if candidates else None


def compare_definitions(answer: RankedAnswer) -> BaselineComparison | None:
    """What is released beside the best of the other definition; None where there is nothing to compare with.

    Errors are as people are told them: without what snapping adds ratios would flatter the smaller noise.
    """
    chosen = answer.chosen
    if not answer.baselines:
        return None

    def told(one: Candidate) -> Candidate:
        return replace(one, error=answer.told(one.error))

    result = BaselineComparison(told(chosen), told(answer.own[0] if chosen.user_level else answer.baselines[0]), None)
    largest = Fraction(chosen.guarantee.epsilon_at(1))
    try:
        if chosen.user_level:
            here = replace(answer.terms, promises=(Promise("all", "anywhere", largest),), fraction=Fraction(1))
            return replace(result, at_worst=told(best_first(answer.by_emd(here))[0]))
        # Whatever has this worst case is user-level DP itself, so that what is chosen is among the others.
        return replace(result, at_worst=told(best_first([*answer.by_user_level(largest), chosen])[0]))
    except ParameterError:
        return result
