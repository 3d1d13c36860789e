"""A study's question beside ordinary user-level DP that keeps the same promises; no data are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barrow.numerics import Exact
from barrow.planning import Comparison, compare
from barrow.policy import Promise
from barrow.questions import Histogram, Linear, Question
from barrow.questions.kept import kept_query
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

    >>> study = Study("line(low=0, high=100, step=1, unit='years')", ["1/50, 5 years, 0.1"], users=1000)
    >>> compare_study(study, study.question("mean")).choice.name
    'laplace'
    """
    terms = study.terms(question)
    # To linear questions people without records cost both alike; a histogram has them as one of its items.
    space = study.space.held if isinstance(question, Linear) else study.space
    asked: Any = kept_query(question, space) if isinstance(question, Linear) else {"kind": "histogram"}
    each = items if items is not None else getattr(question, "items", None) or getattr(question, "samples", None)
    promises = [Promise(p.share_text, p.distance, p.epsilon * terms.fraction) for p in study.promises]
    return compare(
        space,
        asked,
        None if promises else terms.alpha,
        terms.delta,
        users=terms.users,
        items=each,
        model=study.model.value,
        promises=promises or None,
        epsilons=tuple(epsilons) if epsilons or promises else ("1",),
        reference=reference or getattr(question, "reference", "auto"),
        **({"noise": question.noise, "decode": question.decode} if isinstance(question, Histogram) else {}),
    )
