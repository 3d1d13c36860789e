"""A study's question beside ordinary user-level DP that keeps the same promises; no data are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barrow.numerics import Exact
from barrow.planning import Comparison
from barrow.policy import Promise
from barrow.questions import Question
from barrow.study.study import Study


def compare_study(
    study: Study, question: Question, *, epsilons: Sequence[Exact] = (), items: int | None = None, reference: Any = None
) -> Comparison:
    """Every mechanism that can answer, and user-level DP at the epsilon that keeps every promise.

    Args:
        study: The study.
        question: What is asked.
        epsilons: More parameters of user-level DP to compare with.
        items: How many items each person holds, where that is public and the same for all.
        reference: Where errors of decoded histograms are predicted; as the question says by default.
    """
    terms = study.terms(question)
    promises = [Promise(p.share_text, p.distance, p.epsilon * terms.fraction) for p in study.promises]
    levels = tuple(epsilons) if epsilons or promises else ("1",)
    given = {name: value for name, value in (("items", items), ("reference", reference)) if value is not None}
    return question.compared(terms, promises, levels, **given)
