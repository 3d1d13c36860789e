"""Answers about a part of the records, of some periods or of one group of people: sums over items have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch

from barrow.engines import Counts, ItemSums, PeopleCounts
from barrow.errors import DataError
from barrow.planning.terms import Terms
from barrow.queries import Query
from barrow.questions.answer import Answer, Statistics
from barrow.questions.linear import LinearAnswer, mean_over_people
from barrow.questions.question import Question
from barrow.questions.releasing import HeldItems, held_by_each


@singledispatch
def averaged_query(answer: Answer) -> Query | None:
    """The query whose mean over people gets the noise, for answers that are nothing else; None for other types."""
    return None


@averaged_query.register(LinearAnswer)
def _(answer: LinearAnswer) -> Query | None:
    """A kind that adds its noise to something else says so itself, or has no parts."""
    return answer.query if type(answer).statistics is LinearAnswer.statistics else None


def can_be_parted(answer: Answer) -> bool:
    """Whether an answer about a part of the records is the same answer: noise on a mean over people.

    >>> from barrow.questions import Mean
    >>> from barrow.spaces import Line
    >>> can_be_parted(Mean(definition="emd").plan(Terms(Line(0, 1, step=0.1), 10, given=Terms.fraction)))
    True
    """
    return averaged_query(answer) is not None or answer.question.traits.whole_people or reports_items(answer)


def reports_items(answer: Answer) -> bool:
    """Whether items are randomised one by one: of exactly so many of each person, or of samples."""
    return held_by_each(answer) != HeldItems()


@singledispatch
def shared(answer: Answer, terms: Terms) -> Answer | None:
    """The mechanism of the smallest of several groups, at its price, for a larger one; None where each has its own.

    Args:
        answer: What the smallest group is released by.
        terms: Those of another group, or of everybody.
    """
    return None


def for_terms(answer: Answer, terms: Terms) -> Answer:
    """The same answer under terms that differ by the names of periods, or by how many people there are in all."""
    if averaged_query(answer) is None:
        return shared(answer, terms) or answer.question.plan(terms)
    result: Answer = replace(answer, terms=terms)  # type: ignore[type-var]
    return result


def mean_of_parts(answer: Answer, counts: Counts | ItemSums, people: int) -> Statistics:
    """What noise will be added to: the exact mean over so many people, who may each stand for a part (private).

    Args:
        answer: What will be drawn.
        counts: An engine's integers.
        people: How many people they are: each person once for each period, where periods count alike.
    """
    query = averaged_query(answer)
    if query is None:
        return answer.statistics(counts)
    return mean_over_people(replace(answer.terms, users=people), query, counts)


@singledispatch
def items_of_part(answer: Answer, counts: Counts) -> Statistics:
    """What is randomised one by one (private).

    Args:
        answer: What will be drawn.
        counts: Of people who have records: all their items, or people one by one where items are drawn from each.
    """
    raise DataError("The answer randomises no items.", fix="use mean_of_parts")


@singledispatch
def mean_of_people(answer: Answer, parts: Sequence[tuple[PeopleCounts, Fraction]]) -> Statistics:
    """What noise will be added to where it is made of whole people: of each period's, with its weight (private)."""
    raise DataError("The records were not read by items.", fix="read them with engine.count_cells")


def same_mechanism(answer: Answer) -> Question:
    """The question with the mechanism that its answer chose, for others to take the same."""
    question = answer.question
    chosen = getattr(answer, "chosen", None)
    if averaged_query(answer) is None or chosen is None:
        return answer.question
    options: dict[str, object] = {"definition": "user_level" if chosen.user_level else "emd"}
    if hasattr(question, "mechanism"):
        options["mechanism"] = chosen.name
    return replace(question, **options)  # type: ignore[arg-type]  # options of its own kind


def mechanism_of(question: Question) -> tuple[object, object]:
    """What :func:`same_mechanism` changes of a question.

    >>> from barrow.questions import Mean
    >>> mechanism_of(Mean())
    ('auto', None)
    """
    return getattr(question, "definition", None), getattr(question, "mechanism", None)
