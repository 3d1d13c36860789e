"""Audits of a study's own noise: its questions are drawn for two made-up data sets that differ in one person.

No record is read and nothing is spent: the data sets are made from public numbers, and what is drawn is thrown away.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from barrow.audit.sampling import MOST_EPSILON, SampledFinding, audit_mechanism
from barrow.engines import Counts, PeopleCounts
from barrow.errors import ParameterError
from barrow.noise import Center
from barrow.numerics import float_up
from barrow.numerics.exact import near
from barrow.progress import task
from barrow.queries import Profiles
from barrow.questions import Answer
from barrow.questions.answer import Statistics
from barrow.questions.releasing import held_by_each
from barrow.spaces.space import Floats
from barrow.study import Study

_LEAST = 200
"""How often each data set is drawn at least."""
_WORK = 4 * 10**6
"""How many numbers are drawn for each data set, at most."""


@dataclass(frozen=True)
class StudyFinding:
    """What sampling shows about one question.

    Attributes:
        question: Its name.
        words: How the two data sets differ.
        result: What was seen.
        control: The same with half the noise, which must be caught where sampling can see it; None where there is
            no additive noise to halve.

    >>> StudyFinding.__dataclass_params__.frozen
    True
    """

    question: str
    words: str
    result: SampledFinding
    control: SampledFinding | None

    @property
    def passed(self) -> bool:
        """Whether the draws prove nothing beyond the guarantee."""
        return self.result.passed

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        control = None if self.control is None else self.control.to_json()
        return {"question": self.question, "pair": self.words, **self.result.to_json(), "half_the_noise": control}

    def lines(self) -> list[str]:
        """The finding in words."""
        seen, allowed = self.result.seen_lower, self.result.epsilon
        verdict = "consistent" if self.passed else "VIOLATION"
        lines = [f"{self.question}: {self.words}: allowed ε {allowed:.3g}, seen {seen:.3g} (99.99 %): {verdict}"]
        if self.control is not None:
            caught = "seen to be wrong, as it should be" if not self.control.passed else "too little to be told apart"
            lines.append(
                f"{'':{len(self.question)}}  control, half the noise: seen {self.control.seen_lower:.3g}: {caught}"
            )
        return lines


def audit_study(
    study: Study, *, draws: int = 4000, minutes: float | None = None, tell: Callable[[str], None] | None = None
) -> list[StudyFinding]:
    """Draw every question of a study for two neighbouring data sets, and look for what tells them apart too well.

    Args:
        study: The study; of its records nothing is read.
        draws: How often each is drawn, fewer where a release has very many values.
        minutes: About how long it may take; each question is drawn 200 times all the same.
        tell: Is told, before most of the work, about how long it will take.

    >>> study = Study("line(low=0, high=10, step=1)", alpha=2, users=20, questions=["mean"])
    >>> [(finding.question, finding.passed) for finding in audit_study(study, draws=400)]
    [('mean', True)]
    """
    if minutes is not None and not 0.0 < minutes < 1e6:
        raise ParameterError(f"minutes is {minutes!r}.", allowed="a number above 0", fix="minutes=2")
    works = [_Work.of(study.plan(question), draws) for question in study.questions]
    seconds = sum(work.seconds for work in works)
    if minutes is not None and seconds > 60.0 * minutes:
        works = [work.shortened(60.0 * minutes / seconds) for work in works]
    if tell is not None:
        tell(f"Drawing takes about {_duration(sum(work.seconds for work in works))}: " + ", ".join(map(str, works)))
    return [work.finding() for work in works]


def _duration(seconds: float) -> str:
    return f"{max(1, math.ceil(seconds))} s" if seconds < 100 else f"{seconds / 60:.2g} minutes"


@dataclass(frozen=True, eq=False)
class _Work:
    """One question that will be drawn for two data sets, and how long a draw takes."""

    plan: Answer
    one: Statistics
    other: Statistics
    distance: Fraction
    words: str
    count: int
    seconds_each: float

    @staticmethod
    def of(plan: Answer, draws: int) -> _Work:
        one, other, distance, words = _pair(plan)
        first, second = plan.statistics(one), plan.statistics(other)
        count = max(_LEAST, min(draws, _WORK // plan.facts().outputs))
        plan.draw(first)  # what is made once
        start = time.perf_counter()
        for _ in range(3):
            plan.draw(first)
        return _Work(plan, first, second, distance, words, count, (time.perf_counter() - start) / 3)

    def __str__(self) -> str:
        return f"{self.plan.question.label} ({self.count:,} draws of each data set)"

    @property
    def _draws(self) -> int:
        """Two data sets, and where there is additive noise once more with half of it."""
        return self.count * (4 if self._additive else 2)

    @property
    def _additive(self) -> bool:
        """Whether values are the statistics with noise, so that half of the noise can be tried."""
        return isinstance(self.one, Center) and len(self.one.approximation) == self.plan.facts().outputs

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        return self._draws * self.seconds_each

    def shortened(self, share: float) -> _Work:
        """The same with fewer draws."""
        return replace(self, count=max(_LEAST, int(self.count * share)))

    def finding(self) -> StudyFinding:
        """What the draws show."""
        plan = self.plan
        with task(f"drawing {plan.question.label}", total=self._draws) as done:
            built = itertools.count(1)

            def draw(statistics: Statistics) -> Floats:
                done(next(built))
                return np.asarray(plan.draw(statistics).values)

            def halved(statistics: Statistics) -> Floats:
                center = statistics.approximation
                return np.asarray(center + (draw(statistics) - center) / 2.0)

            def seen(how: Callable[[Statistics], Floats]) -> SampledFinding:
                return audit_mechanism(
                    how, plan.guarantee, self.one, self.other, distance=self.distance, draws=self.count
                )

            control = seen(halved) if self._additive else None
            return StudyFinding(plan.question.label, self.words, seen(draw), control)


def _pair(plan: Answer) -> tuple[Counts, Counts, Fraction, str]:
    """Everybody holds one item; one person holds another one, in all of the data or in a share that sampling sees."""
    space, users = plan.terms.space, plan.terms.users
    here = space.default_item
    away = np.asarray(space.block([here])[0], dtype=np.float64)
    rate = float_up(plan.alpha) if plan.alpha is not None else 1.0
    wanted = min(1.0, MOST_EPSILON / rate)
    far = np.where((away > 0.0) & (away <= wanted), away, -1.0)
    there = int(far.argmax()) if far.max() > 0.0 else int(np.where(away > 0.0, away, np.inf).argmin())
    items = held_by_each(plan).items
    held = items or 1
    moved = held
    if away[there] > wanted and items is None:
        held = int(np.ceil(away[there] / wanted))
        moved = 1
    elif away[there] > wanted:
        moved = max(1, int(held * wanted / away[there]))
    distance = Fraction(float(away[there])) * (1 + Fraction(1, 2**30)) * moved / held
    rest = (users - 1) * (held if items is not None else 1)
    one, other = _counts(here, there, held, 0, rest, plan), _counts(here, there, held, moved, rest, plan)
    share = "all data" if moved == held else f"a share of {moved}/{held} of the data"
    return (
        one,
        other,
        min(distance, Fraction(1)),
        f"{share} of one person by {near(float(away[there]) * space.diameter, space.unit)}",
    )


def _counts(here: int, there: int, held: int, moved: int, rest: int, plan: Answer) -> Counts:
    """The integers of an engine: one person of ``held`` items, the others at the public default item."""
    if plan.question.traits.whole_people:
        one = Profiles.of_users([[here] * (held - moved) + [there] * moved])
        return PeopleCounts(one).with_users(plan.terms.users, plan.terms.space.default_item)
    alike = held if held_by_each(plan).items is not None else 1
    table: dict[tuple[int, int], int] = {}
    for item, size, count in ((here, alike, rest), (here, held, held - moved), (there, held, moved)):
        if count:
            table[item, size] = table.get((item, size), 0) + count
    keys = sorted(table)
    return Counts(
        [item for item, _ in keys], [size for _, size in keys], [table[key] for key in keys], users=plan.terms.users
    )
