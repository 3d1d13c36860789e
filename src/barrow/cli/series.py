"""A study whose questions are released several times under the same promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from barrow.cli import work


def in_series(
    study: work.Study, questions: Sequence[work.Question], releases: int, period: str | None = None
) -> work.Study:
    """The study with some of its questions, and a share of every promise for each of so many releases of them.

    Releases add up in quadrature where that makes every error smaller, and by themselves elsewhere.
    """
    adding = study.replace(questions=[replace(q, fraction=study.fraction(q) / releases) for q in questions])
    if not study.promises or not study.delta or study.model is not work.Model.CENTRAL:
        return adding
    quadratic = adding.replace(composition="quadrature")
    plain, squared = (
        [part.plan.error for question in each.questions for part in planned_parts(each, question, period)]
        for each in (adding, quadratic)
    )
    return quadratic if all(b < a for a, b in zip(plain, squared, strict=True)) else adding


def planned_parts(study: work.Study, question: work.Question, period: str | None) -> list[work.ReleaseParts]:
    """The plans of a question, one for each of its groupings; periods are alike, and the first stands for all."""
    planner = work.Planner(study, question)
    abouts = study.abouts(question, period or (None if study.calendar is None else work.LAST))
    return [planner.parts(series[0]) for series in abouts]
