"""All mechanisms for a question beside user-level DP, each at the largest alpha that keeps the promises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch

from barrow.numerics import Exact
from barrow.planning.candidates import Candidate
from barrow.planning.comparing import beside_user_level, compare_histograms, largest_words
from barrow.planning.comparison import Comparison
from barrow.planning.histograms import HistogramTarget
from barrow.planning.rules import paper_rule_linear
from barrow.planning.simulate import reference_distribution
from barrow.planning.terms import Terms
from barrow.promises import Policy, Promise
from barrow.questions.comparing import RankedAnswer
from barrow.questions.histogram import Histogram
from barrow.questions.items import ItemWiseQuestion
from barrow.questions.linear import Linear
from barrow.questions.quantile import Quantile
from barrow.questions.question import Question, public_items


@singledispatch
def histogram_options(question: Question) -> dict[str, object] | None:
    """What is said of the histograms that are compared; None for a kind that is compared by its own plan."""
    return {"items": public_items(question)}


@histogram_options.register(Linear)
@histogram_options.register(Quantile)
def _(question: Question) -> None:
    return None


@histogram_options.register(ItemWiseQuestion)
def _(question: ItemWiseQuestion) -> dict[str, object]:
    return {"items": question.items or question.samples}


@histogram_options.register(Histogram)
def _(question: Histogram) -> dict[str, object]:
    names = ("items", "noise", "decode", "reference")
    return {name: getattr(question, name) for name in names}


def mechanisms_compared(
    question: Question,
    terms: Terms,
    promises: Sequence[Promise],
    epsilons: Sequence[Exact],
    given: Mapping[str, object],
) -> Comparison:
    """All mechanisms that keep the terms beside user-level DP: histograms, or what the plan itself is chosen by.

    Args:
        question: What is asked.
        terms: What is kept.
        promises: The promises; user-level DP is set to their smallest epsilon.
        epsilons: More parameters of user-level DP.
        given: What goes before the question's own options: items, reference.
    """
    options = histogram_options(question)
    policy = replace(terms, promises=tuple(promises)).policy if promises else None
    if options is None and isinstance(answer := question.plan(terms), RankedAnswer):
        return _by_plan(answer, policy, epsilons)
    kept = Terms(terms.space, terms.users, delta=terms.delta, model=terms.model, parties=terms.parties)
    if policy is None:
        kept = replace(kept, given=terms.alpha)
    else:
        kept = replace(kept, promises=policy.promises, records=policy.records)
    own = {**(options or {}), **given}
    guess = reference_distribution(terms.space, own.pop("reference", "auto"))
    target = HistogramTarget(kept, guess, **own)  # type: ignore[arg-type]  # items, noise and decode
    return compare_histograms(target, policy, epsilons)


def _by_plan(answer: RankedAnswer, policy: Policy | None, epsilons: Sequence[Exact]) -> Comparison:
    """By what the plan is chosen by, so that both say the same numbers, and with what snapping adds to all of them."""
    terms = answer.terms

    def told(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
        return tuple(replace(one, error=answer.told(one.error)) for one in candidates)

    def others(epsilon: Fraction, itself: bool) -> Sequence[Candidate]:
        subset = answer.baselines if terms.promises and epsilon == min(terms.epsilons) else ()
        return told(subset or answer.by_user_level(epsilon))

    own = told(answer.own or answer.by_emd(terms))
    comparison = Comparison(
        answer.description,
        "95 % half width of each value",
        answer.error_unit,
        own[0].guarantee.definition.parameters.get("alpha", terms.alpha),
        terms.delta,
        largest_words(terms.space),
        own,
        {},
    )
    return beside_user_level(comparison, terms.space, others, paper_rule_linear, policy, epsilons)
