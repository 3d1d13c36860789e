"""Targets of histograms as the tests write them: a space, a delta and a few public numbers."""

from __future__ import annotations

from typing import Any

from barrow.planning import HistogramTarget, Terms, reference_distribution
from barrow.planning import histogram_candidates as candidates
from barrow.promises.definitions import positive, probability, to_model


def target(space: Any, delta: Any = 0, *, users: int, items: int | None = None, model: str = "central",
           reference: Any = "auto", noise: str = "auto", decode: str = "auto") -> HistogramTarget:  # fmt: skip
    terms = Terms(space, users, given=positive(1, "alpha"), delta=probability(delta), model=to_model(model))
    return HistogramTarget(terms, reference_distribution(space, reference), items, noise, decode)


def histogram_candidates(request: HistogramTarget, alpha: Any, **options: Any) -> Any:
    from dataclasses import replace

    return candidates(replace(request, terms=replace(request.terms, given=positive(alpha, "alpha"))), **options)
