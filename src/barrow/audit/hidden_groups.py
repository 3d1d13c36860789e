"""What answers within hidden groups cost: every promised change of small people, against what a ledger charges."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import cast

from barrow.audit.verdict import Finding, Tally
from barrow.ledger import PromiseLimit, SpaceRef
from barrow.ledger.promises import cost_of
from barrow.numerics import float_up
from barrow.promises import Grouping, Promise
from barrow.questions import Mean, Quantile, Question
from barrow.questions.grouped import HiddenGroupsAnswer
from barrow.spaces import Line
from barrow.spaces.spec import ANOTHER_GROUP
from barrow.study import Study

_PLACES, _RECORDS, _LABELS = 3, 2, ("a", "b")
_PROMISES = (
    "1/2, 1 km, 0.5", "1/2, another group, 0.5", "1/2, anywhere, 0.5", "all, 1 km, 0.5", "all, another group, 0.5",
)  # fmt: skip
_DISTANCES = ("1 km", "2 km", "1/4 of the largest distance")
_QUESTIONS: dict[str, Question] = {
    "mean": Mean(definition="emd", noise="laplace", by=("group",)),
    "median": Quantile(definition="emd", noise="laplace", by=("group",)),
}
Person = tuple[tuple[int, int], ...]
"""The group and the place of each record."""


def audit_hidden_groups() -> list[Finding]:
    """Every pair of people of two records that is a promised change apart, for several distances of groups."""
    return [_audit(name, question) for name, question in _QUESTIONS.items()]


def _audit(name: str, question: Question) -> Finding:
    tally = Tally(f"hidden groups, {name}", "central")
    line = Line(0, _PLACES - 1, step=1, unit="km", whole=True)
    for far, text, missing in itertools.product(_DISTANCES, _PROMISES, ("no records", "default item")):
        grouping = Grouping("group", labels=_LABELS, distance=far)
        asked = Study(line, [text], users=2, groups=[grouping], missing=missing)
        study = asked.within(grouping)
        plan = cast("HiddenGroupsAnswer", question.plan(study.terms(question)))
        promise, ref = study.promises[0], SpaceRef.of(plan.terms.space, ungrouped=plan.terms.ungrouped)
        limit = PromiseLimit.of(Promise.parse(text), line)  # as the ledger of the study keeps it
        charged = cost_of(plan.event, Fraction(0), ref, [limit], line.metric_name).epsilons[0]
        table = plan.query.table
        rows = [[int(x) for x in row] for row in table.integers.toarray()]
        scale = plan.noise.scale / table.step
        for one, other in _pairs(promise, study.space.geometry.group_distance or Fraction(1), study.space.diameter):
            lost = _moved(rows, one, other) / _RECORDS / 2 / scale  # the mean of two people, of whom one changes
            tally.compared(f"{far}, {text}: {one} and {other}", float_up(lost), float_up(charged), 1.0)
    return tally.finding()


def _moved(rows: list[list[int]], one: Person, other: Person) -> Fraction:
    """How far the sum over a person's records moves in the 1-norm, in steps."""
    sums = [
        [sum(column) for column in zip(*(rows[g * _PLACES + x] for g, x in held), strict=True)] for held in (one, other)
    ]
    return Fraction(sum(abs(a - b) for a, b in zip(*sums, strict=True)))


def _pairs(promise: Promise, group_distance: Fraction, diameter: float) -> Iterator[tuple[Person, Person]]:
    """All people that are a promised change apart."""
    records = list(itertools.product(range(len(_LABELS)), range(_PLACES)))
    people = list(itertools.product(records, repeat=_RECORDS))
    apart = float(group_distance) * diameter
    word = str(promise.distance)
    for one, other in itertools.combinations(people, 2):
        pairs = list(zip(one, other, strict=True))
        changed = [(a, b) for a, b in pairs if a != b]
        if Fraction(len(changed), _RECORDS) > promise.share:
            continue
        if word in ANOTHER_GROUP and any(a[1] != b[1] for a, b in changed):
            continue
        moved = sum(abs(a[1] - b[1]) + (apart if a[0] != b[0] else 0.0) for a, b in changed) / _RECORDS
        if word == "1 km" and moved > float(promise.share) * 1.0 + 1e-12:
            continue
        yield one, other
