"""Questions of a study that would be answered more accurately as one: what a workload of them would be off by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from barrow.numerics.exact import at_most
from barrow.planning.terms import Terms
from barrow.promises import Model
from barrow.questions.answer import Answer
from barrow.questions.linear import Linear, LinearAnswer
from barrow.questions.shaped import StrategyAnswer
from barrow.questions.workload import KINDS, Workload

_QUICK = 200_000
"""Items times values up to which a joint strategy is looked for without being asked for."""
_WORTH = 1.05


def together_lines(plans: Sequence[Answer]) -> list[str]:
    """A line for linear questions that would all be at least five per cent more accurate in one workload.

    Alone each question has its fraction of every promise; together each move of a record is paid for once.

    >>> import barrow as bw
    >>> regions = [bw.Region(name=f"r{c}", center=c, radius="4 km", ramp="6 km") for c in (5, 20, 30, 50)]
    >>> line = bw.Line(0, 60, unit="km", step=1)
    >>> study = bw.Study(line, ["all, 6 km, 0.5"], users=2000, missing="default item", questions=regions)
    >>> print(together_lines([study.plan(region) for region in regions])[0][:96])
    r5, r20, r30 and r50 as one question of the kind workload would each be off by at most 0.0896, i
    """
    alone = [plan for plan in plans if isinstance(plan, LinearAnswer) and _may_join(plan)]
    lines = []
    for unit in dict.fromkeys(plan.query.unit for plan in alone):
        line = _line([plan for plan in alone if plan.query.unit == unit])
        lines += [] if line is None else [line]
    return lines


def _may_join(plan: LinearAnswer) -> bool:
    """Whether it could be a part of a workload as it is asked."""
    question, terms = plan.question, plan.terms
    plain = isinstance(question, Linear) and (question.noise, question.definition) == ("auto", "auto")
    return (
        plain
        and question.kind in KINDS
        and terms.model is Model.CENTRAL
        and terms.space.no_records_distance is None
        and not isinstance(plan, StrategyAnswer)
    )


def _line(plans: Sequence[LinearAnswer]) -> str | None:
    values = sum(plan.query.dimension for plan in plans)
    if len(plans) < 2 or plans[0].terms.space.items * values > _QUICK:
        return None
    terms = _sum_of([plan.terms for plan in plans])
    if terms is None:
        return None
    parts = [replace(plan.question, fraction=None) for plan in plans]
    question = Workload(parts=parts)
    best = question.plan(terms)
    ends = np.cumsum([plan.query.dimension for plan in plans])
    each = [float(widths.max()) for widths in np.split(best.widths, ends[:-1])]
    if any(plan.error < _WORTH * wide for plan, wide in zip(plans, each, strict=True)):
        return None
    *names, last = [plan.question.label for plan in plans]
    unit = f" {plans[0].query.unit}".rstrip()
    wide, before = (at_most(max(errors)) for errors in (each, [plan.error for plan in plans]))
    return (
        f"{', '.join(names)} and {last} as one question of the kind workload would each be off by at most "
        f"{wide}{unit}, in place of {before}{unit} (docs/queries.md)"
    )


def _sum_of(terms: Sequence[Terms]) -> Terms | None:
    """What all of them have together; None where they are about different records."""
    first = terms[0]
    if any(_rest(one) != _rest(first) for one in terms):
        return None
    fraction = sum((one.fraction for one in terms), Fraction(0))
    if first.squares:
        squares = tuple(sum(each, Fraction(0)) for each in zip(*(one.squares for one in terms), strict=True))
        return replace(first, fraction=fraction, squares=squares)
    return replace(first, fraction=fraction, delta=sum((one.delta for one in terms), Fraction(0)))


def _rest(terms: Terms) -> Terms:
    return replace(terms, fraction=Fraction(1), delta=Fraction(0), squares=())
