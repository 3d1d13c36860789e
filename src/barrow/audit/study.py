"""Audits of a study's own noise: its questions are drawn for two made-up data sets that differ in one person.

No record is read and nothing is spent: the data sets are made from public numbers, and what is drawn is thrown away.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from barrow.audit.sampling import MOST_EPSILON, SampledFinding, audit_mechanism
from barrow.engines import Counts
from barrow.numerics import float_up
from barrow.questions import Plan
from barrow.study import Study

_WORK = 4 * 10**6
"""How many numbers are drawn for each data set, at most."""


@dataclass(frozen=True)
class StudyFinding:
    """What sampling shows about one question.

    Attributes:
        question: Its name.
        words: How the two data sets differ.
        found: What was seen.
        control: The same with half the noise, which must be caught where sampling can see it; None where there is
            no additive noise to halve.

    >>> StudyFinding.__dataclass_params__.frozen
    True
    """

    question: str
    words: str
    found: SampledFinding
    control: SampledFinding | None

    @property
    def passed(self) -> bool:
        """Whether the draws prove nothing beyond the guarantee."""
        return self.found.passed

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        control = None if self.control is None else self.control.to_json()
        return {"question": self.question, "pair": self.words, **self.found.to_json(), "half_the_noise": control}

    def lines(self) -> list[str]:
        """The finding in words."""
        seen, allowed = self.found.seen_lower, self.found.epsilon
        verdict = "consistent" if self.passed else "VIOLATION"
        lines = [f"{self.question}: {self.words}: allowed ε {allowed:.3g}, seen {seen:.3g} (99.99 %): {verdict}"]
        if self.control is not None:
            caught = "seen to be wrong, as it should be" if not self.control.passed else "too little to be told apart"
            lines.append(
                f"{'':{len(self.question)}}  control, half the noise: seen {self.control.seen_lower:.3g}: {caught}"
            )
        return lines


def audit_study(study: Study, *, draws: int = 4000) -> list[StudyFinding]:
    """Draw every question of a study for two neighbouring data sets, and look for what tells them apart too well.

    Args:
        study: The study; of its records nothing is read.
        draws: How often each is drawn, fewer where a release has very many values.

    >>> study = Study("line(low=0, high=10, step=1)", alpha=2, users=20, questions=["mean"])
    >>> [(finding.question, finding.passed) for finding in audit_study(study, draws=400)]
    [('mean', True)]
    """
    return [_audited(study.plan(question), draws) for question in study.questions]


def _audited(plan: Plan, draws: int) -> StudyFinding:
    one, other, distance, words = _pair(plan)
    outputs = plan.fields().outputs
    count = max(200, min(draws, _WORK // outputs))
    first, second = plan.statistics(one), plan.statistics(other)

    def draw(statistics: Any) -> Any:
        return plan.noisy(plan.draw(statistics)[0])

    found = audit_mechanism(draw, plan.guarantee, first, second, distance=distance, draws=count)
    control = None
    if plan.center(first) is not None:

        def halved(statistics: Any) -> Any:
            center = np.asarray(plan.center(statistics))
            return center + (np.asarray(draw(statistics)) - center) / 2.0

        control = audit_mechanism(halved, plan.guarantee, first, second, distance=distance, draws=count)
    return StudyFinding(plan.question.label, words, found, control)


def _pair(plan: Plan) -> tuple[Counts, Counts, Fraction, str]:
    """Everybody holds one item; one person holds another one, in all of the data or in a share that sampling sees."""
    space, users = plan.space, plan.terms.users
    here = space.default_item
    away = np.asarray(space.block([here])[0], dtype=np.float64)
    rate = float_up(plan.alpha) if plan.alpha is not None else 1.0
    wanted = min(1.0, MOST_EPSILON / rate)
    far = np.where((away > 0.0) & (away <= wanted), away, -1.0)
    there = int(far.argmax()) if far.max() > 0.0 else int(np.where(away > 0.0, away, np.inf).argmin())
    held = plan.items or 1
    moved = held
    if away[there] > wanted and plan.items is None:
        held = int(np.ceil(away[there] / wanted))
        moved = 1
    elif away[there] > wanted:
        moved = max(1, int(held * wanted / away[there]))
    distance = Fraction(float(away[there])) * (1 + Fraction(1, 2**30)) * moved / held
    rest = (users - 1) * (held if plan.items is not None else 1)
    one, other = _counts(here, there, held, 0, rest, plan), _counts(here, there, held, moved, rest, plan)
    share = "all data" if moved == held else f"a share of {moved}/{held} of the data"
    return (
        one,
        other,
        min(distance, Fraction(1)),
        f"{share} of one person by {plan.sized(float(away[there]) * space.diameter)}",
    )


def _counts(here: int, there: int, held: int, moved: int, rest: int, plan: Plan) -> Counts:
    """The integers of an engine: one person of ``held`` items, the others at the public default item."""
    alike = held if plan.items is not None else 1
    table: dict[tuple[int, int], int] = {}
    for item, size, count in ((here, alike, rest), (here, held, held - moved), (there, held, moved)):
        if count:
            table[item, size] = table.get((item, size), 0) + count
    keys = sorted(table)
    return Counts(
        [item for item, _ in keys], [size for _, size in keys], [table[key] for key in keys], users=plan.terms.users
    )
