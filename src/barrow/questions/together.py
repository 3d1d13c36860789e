"""Questions that are answered more accurately as one: which ones, and how much is gained."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from barrow.numerics.exact import PERCENT, at_most
from barrow.planning.candidates import ALIKE
from barrow.questions.answer import Answer
from barrow.questions.holders import HoldersAnswer
from barrow.questions.linear import Linear, LinearAnswer
from barrow.questions.question import MOST_WORDS, Question, asked_of, named_part
from barrow.questions.shaped import StrategyAnswer
from barrow.questions.workload import KINDS, Workload

_QUICK = 200_000
"""Items times values up to which a joint strategy is looked for without being asked for."""
_LONGEST = 80
Asked = TypeVar("Asked", bound=Question)
Planned = Callable[[Question], Answer | None]
"""From a question to its plan; None where it has none."""


@dataclass(frozen=True, eq=False)
class Joint:
    """One question in place of several.

    Attributes:
        question: The question.
        line: Which questions it answers, and what that gains.
    """

    question: Workload
    line: str


def may_join(question: Question) -> bool:
    """Whether a question could be one of several as it is asked; a density has a map of its own.

    >>> from barrow.questions import Density, Mean
    >>> may_join(Mean()), may_join(Mean(noise="laplace")), may_join(Density(bandwidth="5 km"))
    (True, False, False)
    """
    return (
        isinstance(question, Linear)
        and question.kind in KINDS
        and question.kind != "density"
        and (question.noise, question.definition, question.by) == ("auto", "auto", ())
    )


def joined(
    questions: Sequence[Question], fraction: Callable[[Question], Fraction], plan: Planned, names: Collection[str]
) -> list[Joint]:
    """A question in place of each group of questions in one unit that all gain five per cent or more.

    Args:
        questions: Questions that may join.
        fraction: The share of every promise that each may use.
        plan: Plans one of them, or one in place of several.
        names: What no new question may be called.
    """
    alone = {question.label: _plain(plan(question)) for question in questions}
    plans = {label: found for label, found in alone.items() if found is not None}
    results = []
    for unit in dict.fromkeys(found.query.unit for found in plans.values()):
        group = [q for q in questions if q.label in plans and plans[q.label].query.unit == unit]
        while len(group) > 1:
            whole = sum(map(fraction, group), Fraction(0))
            parts = [named_part(question) for question in group]
            size = sum(plans[q.label].query.table.shape[0] * plans[q.label].query.dimension for q in group)
            joint = Workload(name=_name([q.label for q in group], names), parts=parts, fraction=min(whole, Fraction(1)))
            found = plan(joint) if whole <= 1 and size <= _QUICK else None
            if not isinstance(found, StrategyAnswer):
                break
            wide = _widest(found)
            gaining = [q for q in group if plans[q.label].error >= ALIKE * wide[q.label]]
            if len(gaining) == len(group):
                results.append(Joint(with_words(joint, group), _line(found, wide, plans)))
                break
            group = gaining
    return results


def with_words(joint: Asked, questions: Sequence[Question]) -> Asked:
    """With what each of the questions says to readers: statement and report say it, as they would of each."""
    own = [one for one in questions if one.description and "description" not in asked_of(one)]
    title = "; ".join(one.title or one.label for one in questions) if any(one.title for one in questions) else ""
    below = " ".join(f"{one.label}: {one.description}" for one in own)
    return replace(joint, title=_fitting(title, "title"), description=_fitting(below, "description"))


def _fitting(words: str, name: str) -> str:
    return words if len(words) <= MOST_WORDS[name] else ""


def _plain(plan: Answer | None) -> LinearAnswer | None:
    """The plan of plain values with noise, which have no tables but these; None of any other answer."""
    return plan if isinstance(plan, LinearAnswer) and type(plan) in (LinearAnswer, HoldersAnswer) else None


def _name(labels: Sequence[str], names: Collection[str]) -> str:
    """What they are called together, which no question is called by itself."""
    whole = "-".join(labels)
    name = whole if len(whole) <= _LONGEST else f"{labels[0][: _LONGEST - 20]}-and-{len(labels) - 1}-more"
    return name if name not in names else f"{name[: _LONGEST - 9]}-together"


def _widest(plan: StrategyAnswer) -> dict[str, float]:
    """The half width of the widest value of each question."""
    result: dict[str, float] = {}
    for name, width in zip(plan.parts_named, plan.widths.tolist(), strict=True):
        result[name] = max(width, result.get(name, 0.0))
    return result


def _line(plan: StrategyAnswer, wide: Mapping[str, float], plans: Mapping[str, LinearAnswer]) -> str:
    unit = PERCENT if plan.question.traits.in_percent else plan.query.unit
    *names, last = wide
    before = at_most(max(plans[name].error for name in wide), unit)
    return (
        f"{', '.join(names)} and {last} are released together, each ± {at_most(max(wide.values()), unit)} in place of "
        f"± {before} one by one. A name alone releases that one by itself: barrow release {last}"
    )
