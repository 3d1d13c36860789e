"""What promises cost: every promised change of tiny people, against what a plan or a ledger charges.

In three settings: the ways from records to items, functions of whole people, and answers within hidden groups.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import cast

from barrow.audit.verdict import Finding, Tally
from barrow.ledger import PromiseLimit, SpaceRef
from barrow.ledger.promises import cost_of
from barrow.numerics import float_up
from barrow.promises import Grouping, Promise, Satisfied
from barrow.questions import Mean, Quantile, Question
from barrow.questions.grouped import HiddenGroupsAnswer
from barrow.questions.person import Person
from barrow.questions.prices import charges
from barrow.spaces import Line
from barrow.spaces.spec import ANOTHER_GROUP
from barrow.study import Data, Study


def _moved(satisfied: Satisfied, one: Sequence[int], other: Sequence[int], length: int) -> Fraction | None:
    """How far the records of two people on a line are apart on average; None where that is no promised change."""
    moves = [abs(a - b) for a, b in zip(one, other, strict=True)]
    share, far = satisfied.promise.share, satisfied.promise.share * satisfied.distance * length
    changed, moved = (Fraction(sum(each), len(moves)) for each in (map(bool, moves), moves))
    return None if changed > share or moved > far else moved


_KILOMETRES = (0, 2, 4, 6)
"""Where records are, in kilometres; the space ends at 4."""
_CHANGES = ("1/3, 1 km, 0.5", "1/3, 4 km, 0.5", "all, 1 km, 0.5", "all, 4 km, 0.5")
_MONTHS = ((1, 0, 0), (1, 1, 0), (1, 1, 1))
"""Which of a person's three records a filter leaves."""
_FILTER = "SELECT uid, km FROM records WHERE month = 1"
View = Callable[[Sequence[int], Sequence[int]], Fraction]
"""From a person's records, and which of them a filter leaves, to the mean that a release sees."""


def _mean(values: Sequence[int]) -> Fraction:
    return Fraction(sum(values), len(values))


_WAYS: dict[str, tuple[dict[str, str], View]] = {
    "all records": ({}, lambda records, left: _mean(records)),
    "outside nearest": ({"outside": "nearest"}, lambda records, left: _mean([min(x, 4) for x in records])),
    "outside default": ({"outside": "default"}, lambda records, left: _mean([0 if x > 4 else x for x in records])),
    "a filter": ({"sql": _FILTER}, lambda records, left: _mean(list(itertools.compress(records, left)))),
}


def audit_promises() -> list[Finding]:
    """Every pair of data sets of three records that is a promised change apart, for every way from record to item."""
    return [_way(name, options, view) for name, (options, view) in _WAYS.items()]


def _way(name: str, options: dict[str, str], view: View) -> Finding:
    tally = Tally(f"promises, {name}", "central")
    for text in _CHANGES:
        study = Study(
            Line(0, 4, step=1, unit="km", whole=True), [text], users=2, missing="default item",
            data=Data("visits.csv", user="uid", items="km", **options),  # type: ignore[arg-type]
        )  # fmt: skip
        plan = study.plan(Mean(noise="laplace", definition="emd"))
        (satisfied,), (charged,) = study.policy.satisfied, charges(plan)
        inside = [x for x in _KILOMETRES if x <= 4 or "outside" in options]
        for records, others in itertools.product(itertools.product(inside, repeat=3), repeat=2):
            moved = _moved(satisfied, records, others, 4)
            if not moved:
                continue
            for left in _MONTHS:
                # Laplace noise of the scale of alpha: the loss is alpha times how far the mean moves.
                lost = (plan.alpha or 0) * abs(view(records, left) - view(others, left)) / 4
                words = f"{text}: records at {records} and {others}, {sum(left)} seen"
                tally.compared(words, float_up(lost), float_up(charged), float(moved) / 4)
    return tally.finding()


_ENDS, _HELD = 4, 3
_PERSON_CHANGES = ("1/3, 1 km, 0.5", "1/3, anywhere, 0.5", "2/3, 2 km, 0.5", "all, 1 km, 0.5", "all, anywhere, 0.5")
_REGION = {"members": [0], "border": "1 km"}
_FUNCTIONS = {
    "share": Person(function="share", region=_REGION, above="1/2", ramp="1/3", definition="emd"),
    "share between two ramps": Person(
        function="share", region=_REGION, above="1/2", ramp="1/3", bracket=True, noise="laplace", definition="emd"
    ),
    "radius": Person(function="radius", definition="emd"),
    "spread": Person(function="spread", definition="emd"),
    "distance": Person(function="distance", reference=[0, 0, 3], definition="emd"),
}


def audit_people() -> list[Finding]:
    """Every pair of people of three records that is a promised change apart, for every function."""
    return [_function(name, question) for name, question in _FUNCTIONS.items()]


def _function(name: str, question: Person) -> Finding:
    tally = Tally(f"whole people, {name}", "central")
    space = Line(0, _ENDS - 1, step=1, unit="km", whole=True)
    people = list(itertools.product(range(_ENDS), repeat=_HELD))
    for text in _PERSON_CHANGES:
        plan = question.plan(Study(space, [text], users=2, missing="default item").terms(question))
        exactly = cache(plan.query.phi.exactly)
        (satisfied,) = plan.terms.policy.satisfied
        charged = plan.event.epsilon_at(satisfied.share, satisfied.reach, Fraction(0))
        for records, others in itertools.combinations(people, 2):
            moved = _moved(satisfied, records, others, _ENDS - 1)
            if moved is None:
                continue
            pairs = zip(exactly(tuple(sorted(records))), exactly(tuple(sorted(others))), strict=True)
            # Laplace noise: the loss is how far the mean of two people moves in the 1-norm, in units of the scale.
            lost = sum((abs(a - b) for a, b in pairs), Fraction(0)) / (2 * plan.noise.scale)
            words = f"{text}: records at {records} and {others}"
            tally.compared(words, float_up(lost), float_up(charged), float(moved) / (_ENDS - 1))
    return tally.finding()


_PLACES, _RECORDS, _LABELS = 3, 2, ("a", "b")
_GROUP_CHANGES = (
    "1/2, 1 km, 0.5", "1/2, another group, 0.5", "1/2, anywhere, 0.5", "all, 1 km, 0.5", "all, another group, 0.5",
)  # fmt: skip
_DISTANCES = ("1 km", "2 km", "1/4 of the largest distance")
_BY_GROUP: dict[str, Question] = {
    "mean": Mean(definition="emd", noise="laplace", by=("group",)),
    "median": Quantile(definition="emd", noise="laplace", by=("group",)),
}
Member = tuple[tuple[int, int], ...]
"""The group and the place of each record."""


def audit_hidden_groups() -> list[Finding]:
    """Every pair of people of two records that is a promised change apart, for several distances of groups."""
    return [_within_groups(name, question) for name, question in _BY_GROUP.items()]


def _within_groups(name: str, question: Question) -> Finding:
    tally = Tally(f"hidden groups, {name}", "central")
    line = Line(0, _PLACES - 1, step=1, unit="km", whole=True)
    for far, text, missing in itertools.product(_DISTANCES, _GROUP_CHANGES, ("no records", "default item")):
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
            lost = _difference(rows, one, other) / _RECORDS / 2 / scale  # the mean of two people, of whom one changes
            tally.compared(f"{far}, {text}: {one} and {other}", float_up(lost), float_up(charged), 1.0)
    return tally.finding()


def _difference(rows: list[list[int]], one: Member, other: Member) -> Fraction:
    """How far the sum over a person's records moves in the 1-norm, in steps."""
    sums = [
        [sum(column) for column in zip(*(rows[g * _PLACES + x] for g, x in held), strict=True)] for held in (one, other)
    ]
    return Fraction(sum(abs(a - b) for a, b in zip(*sums, strict=True)))


def _pairs(promise: Promise, group_distance: Fraction, diameter: float) -> Iterator[tuple[Member, Member]]:
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
