"""What promises cost by the way from records to items: every change of tiny data sets, against what a plan charges."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction

from barrow.audit.verdict import Finding, Tally
from barrow.numerics import float_up
from barrow.questions import Mean
from barrow.questions.prices import charges
from barrow.spaces import Line
from barrow.study import Data, Study

_PLACES = (0, 2, 4, 6)
"""Where records are, in kilometres; the space ends at 4."""
_PROMISES = ("1/3, 1 km, 0.5", "1/3, 4 km, 0.5", "all, 1 km, 0.5", "all, 4 km, 0.5")
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
    return [_audit(name, options, view) for name, (options, view) in _WAYS.items()]


def _audit(name: str, options: dict[str, str], view: View) -> Finding:
    tally = Tally(f"promises, {name}", "central")
    for text in _PROMISES:
        study = Study(
            Line(0, 4, step=1, unit="km", whole=True), [text], users=2, missing="default item",
            data=Data("visits.csv", user="uid", items="km", **options),  # type: ignore[arg-type]
        )  # fmt: skip
        plan = study.plan(Mean(noise="laplace", definition="emd"))
        (satisfied,), (charged,) = study.policy.satisfied, charges(plan)
        share, far = satisfied.promise.share, satisfied.promise.share * satisfied.distance * 4
        inside = [x for x in _PLACES if x <= 4 or "outside" in options]
        for records, others in itertools.product(itertools.product(inside, repeat=3), repeat=2):
            moves = [abs(a - b) for a, b in zip(records, others, strict=True)]
            if not any(moves) or _mean([move > 0 for move in moves]) > share or _mean(moves) > far:
                continue
            for left in _MONTHS:
                # Laplace noise of the scale of alpha: the loss is alpha times how far the mean moves.
                lost = (plan.alpha or 0) * abs(view(records, left) - view(others, left)) / 4
                words = f"{text}: records at {records} and {others}, {sum(left)} seen"
                tally.compared(words, float_up(lost), float_up(charged), float(_mean(moves)) / 4)
    return tally.finding()
