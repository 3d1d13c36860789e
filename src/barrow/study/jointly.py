"""Questions of a study that are released together where that is more accurate, each under its own name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from barrow.errors import BarrowError, ParameterError
from barrow.ledger import Ledger
from barrow.ledger.state import Record
from barrow.promises import Model
from barrow.questions import Answer, Question
from barrow.questions.together import joined, may_join, with_words
from barrow.study.about import About
from barrow.study.keys import PaidBefore, paid_before, paid_names, paid_question, paid_text
from barrow.study.parts import plan_parts
from barrow.study.study import Study

Abouts = Callable[[Question], Sequence[Sequence[About]]]
"""What releases of a question are about."""


@dataclass(frozen=True)
class ReleasedTogether:
    """What one call releases.

    Attributes:
        questions: The questions; one in place of several that are more accurate together.
        lines: Which are released together, and what that gains; or that such a release was interrupted.
        before: Names of questions that a release of several has answered already.
    """

    questions: tuple[Question, ...]
    lines: tuple[str, ...] = ()
    before: frozenset[str] = frozenset()


def jointly(study: Study, questions: Iterable[Question], abouts: Abouts) -> ReleasedTogether:
    """The questions as one call releases them: those that gain five per cent or more each together are one release.

    Alone each question has its fraction of every promise; together they have the sum of these, and each move of a
    record is paid for once. A question that was released alone stays alone, and so does every one whose release needs
    approval: approvers sign for each of them. A release of several that was interrupted before it was drawn is finished
    as it was paid for, also where questions were added since, or stand in another order; and one that some of several
    periods have already is the same one for the others.

    >>> import barrow as bw
    >>> regions = [bw.Region(name=f"r{c}", center=c, radius="4 km", ramp="6 km") for c in (5, 20, 30, 50)]
    >>> line = bw.Line(0, 60, unit="km", step=1)
    >>> study = Study(line, ["all, 6 km, 0.5"], users=2000, questions=regions)
    >>> [joint] = jointly(study, study.questions, study.abouts).questions
    >>> joint.label, study.fraction(joint)
    ('r5-r20-r30-r50', Fraction(1, 1))
    """
    asked = tuple(questions)
    central = study.model is Model.CENTRAL
    open_ones = [question for question in asked if central and may_join(question)]
    records = _payments(study)
    if records is None or (len(open_ones) < 2 and not records):
        return ReleasedTogether(asked)
    paid = {
        question.label: [paid_before(study, question, about, records) for each in abouts(question) for about in each]
        for question in open_ones
    }
    before = {label for label, each in paid.items() if each and all(one.joint and one.ended for one in each)}
    going_on = _going_on(study, [one for one in open_ones if one.label not in before], paid)
    open_ones = [one for one in open_ones if not any(each.alone or each.joint for each in paid[one.label])]
    names = {question.label for question in study.requests}
    joints = joined(open_ones, study.fraction, partial(_planned, study, abouts), names)
    taken = {label: joint.question for joint in going_on for label in joint.labels}
    taken |= {str(part.name): joint.question for joint in joints for part in joint.question.questions}
    kept = {one.label: one for one in (taken.get(question.label, question) for question in asked)}
    lines = *(joint.line for joint in going_on), *(joint.line for joint in joints)
    return ReleasedTogether(tuple(kept.values()), lines, frozenset(before))


@dataclass(frozen=True)
class _GoingOn:
    """A release of several that was begun, or made of other periods.

    Attributes:
        question: What it asks.
        labels: Which of the questions that are asked it answers.
        line: What becomes of it.
    """

    question: Question
    labels: tuple[str, ...]
    line: str


def _going_on(study: Study, questions: Sequence[Question], paid: Mapping[str, Sequence[PaidBefore]]) -> list[_GoingOn]:
    """Releases of several that questions go on with: what was interrupted, and what some of the periods have already.

    Where nothing is left to pay, the study may ask otherwise by now: what was paid for is finished. Where periods are
    left it must ask for the same ones, with the same fraction.
    """
    found: dict[str, tuple[Record, list[Question]]] = {}
    for question in questions:
        joints = {paid_text(one.joint): one.joint for one in paid[question.label] if one.joint is not None}
        if len(joints) == 1 and not any(one.alone for one in paid[question.label]):
            ((text, record),) = joints.items()
            found.setdefault(text, (record, []))[1].append(question)
    result = []
    for record, mine in found.values():
        joint, labels = with_words(paid_question(record), mine), tuple(question.label for question in mine)
        each = [one for label in labels for one in paid[label]]
        same = set(paid_names(record)) == set(labels) and sum(map(study.fraction, mine)) == study.fraction(joint)
        if same or all(one.joint is not None for one in each):
            begun = any(one.joint is not None and not one.ended for one in each)
            result.append(_GoingOn(joint, labels, _begun_line(record) if begun else _further_line(record)))
    return result


def _begun_line(paid: Record) -> str:
    """What becomes of a release that was interrupted, whatever the study asks by now."""
    return (
        f"The release {paid.data['question']!r} was paid for (entry {paid.seq} of the ledger) and interrupted before "
        "it was drawn: barrow release finishes it as it was paid for, and costs nothing more for it"
    )


def _further_line(paid: Record) -> str:
    """Why questions are released together now: they were before."""
    return f"{paid.data['question']} is one release as it was of other periods (entry {paid.seq} of the ledger)"


def _payments(study: Study) -> Sequence[Record] | None:
    """What the study's ledger has paid; None where approvers sign for each release."""
    try:
        if study.ledger is None or not Ledger.exists(study.ledger):
            return ()
        ledger = Ledger.open(study.ledger)
        return None if ledger.governed else ledger.records()
    except BarrowError:  # which a release says
        return ()


def _planned(study: Study, abouts: Abouts, question: Question) -> Answer | None:
    """The plan of a question; None where it cannot be released, which its release says."""
    try:
        return plan_parts(study, question, abouts(question)[0][0]).plan
    except ParameterError:
        return None
