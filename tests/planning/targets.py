"""Targets of histograms as the tests write them: a space, a delta and a few public numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from barrow.planning.comparing import compare_histograms
from barrow.planning.histograms import HistogramTarget
from barrow.planning.histograms import histogram_candidates as candidates
from barrow.planning.simulate import reference_distribution
from barrow.planning.terms import Terms
from barrow.promises import Policy
from barrow.promises.definitions import positive, probability, to_model


def target(space: Any, delta: Any = 0, *, users: int, items: int | None = None, model: str = "central",
           reference: Any = "auto", noise: str = "auto", decode: str = "auto") -> HistogramTarget:  # fmt: skip
    terms = Terms(space, users, given=positive(1, "alpha"), delta=probability(delta), model=to_model(model))
    return HistogramTarget(terms, reference_distribution(space, reference), items, noise, decode)


def histogram_candidates(request: HistogramTarget, alpha: Any, **options: Any) -> Any:
    return candidates(replace(request, terms=replace(request.terms, given=positive(alpha, "alpha"))), **options)


def compare(space: Any, alpha: Any = None, delta: Any = 0, *, promises: Any = None, epsilons: Any = (),
            **options: Any) -> Any:  # fmt: skip
    request = target(space, delta, **options)
    policy = None if promises is None else Policy(space, promises, delta=request.terms.delta)
    if policy is None:
        terms = replace(request.terms, given=positive(alpha, "alpha"))
    else:
        terms = replace(request.terms, given=None, promises=policy.promises, records=policy.records)
    return compare_histograms(replace(request, terms=terms), policy, epsilons)
