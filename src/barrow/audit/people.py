"""What functions of whole people cost: every promised change of small people, against what a plan charges."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache

from barrow.audit.verdict import Finding, Tally
from barrow.numerics import float_up
from barrow.questions.person import Person
from barrow.spaces import Line
from barrow.study import Study

_PLACES, _RECORDS = 4, 3
_PROMISES = ("1/3, 1 km, 0.5", "1/3, anywhere, 0.5", "2/3, 2 km, 0.5", "all, 1 km, 0.5", "all, anywhere, 0.5")
_REGION = {"members": [0], "border": "1 km"}
_QUESTIONS = {
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
    return [_audit(name, question) for name, question in _QUESTIONS.items()]


def _audit(name: str, question: Person) -> Finding:
    tally = Tally(f"whole people, {name}", "central")
    space = Line(0, _PLACES - 1, step=1, unit="km", whole=True)
    people = list(itertools.product(range(_PLACES), repeat=_RECORDS))
    for text in _PROMISES:
        plan = question.plan(Study(space, [text], users=2, missing="default item").terms(question))
        exactly = cache(plan.query.phi.exactly)
        (satisfied,) = plan.terms.policy.satisfied
        share, far = satisfied.promise.share, satisfied.promise.share * satisfied.distance * (_PLACES - 1)
        charged = plan.event.epsilon_at(satisfied.share, satisfied.reach, Fraction(0))
        for records, others in itertools.combinations(people, 2):
            moves = [abs(a - b) for a, b in zip(records, others, strict=True)]
            if Fraction(sum(map(bool, moves)), _RECORDS) > share or Fraction(sum(moves), _RECORDS) > far:
                continue
            pairs = zip(exactly(tuple(sorted(records))), exactly(tuple(sorted(others))), strict=True)
            # Laplace noise: the loss is how far the mean of two people moves in the 1-norm, in units of the scale.
            lost = sum((abs(a - b) for a, b in pairs), Fraction(0)) / (2 * plan.noise.scale)
            words = f"{text}: records at {records} and {others}"
            tally.compared(words, float_up(lost), float_up(charged), sum(moves) / _RECORDS / (_PLACES - 1))
    return tally.finding()
