"""An answer in words and as plain data: one line for each thing to know, notes by how much they matter."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch

import msgspec

from barrow.accounting.adaptive import has_square
from barrow.numerics import exact_text, float_up
from barrow.numerics.exact import at_most, near
from barrow.planning.notes import Note, Severity, texts
from barrow.promises import Model, alarm, describe_move, odds_upper, percent_up
from barrow.questions.answer import Answer
from barrow.questions.comparing import comparison_of
from barrow.questions.prices import charges, grid_costs, missing_people, price_words, record_costs
from barrow.questions.question import declared_parts
from barrow.questions.statement import Json
from barrow.spaces import Space
from barrow.spaces.covariates import caveat
from barrow.spaces.grids import may_be_whole


@singledispatch
def answer_lines(answer: Answer) -> Iterable[str]:
    """The lines that say how it is answered and how accurate that is; by the type of the answer."""
    return [f"Error     {near(answer.error, answer.error_unit)}"]


@singledispatch
def other_lines(answer: Answer) -> list[str]:
    """The lines about what would keep the promises too, and loses; by the type of the answer."""
    return []


@singledispatch
def details(answer: Answer) -> Json:
    """What only a plan knows, and a statement does not say, in :func:`answer_json`; by the type of the answer."""
    return {}


_ADDS = (
    'Releases add up in quadrature (composition = "quadrature"), but this release cannot: it is neither Gaussian nor '
    "pure. A ledger that keeps all of its promises for quadrature refuses it. Ask it in a study whose releases add "
    '(composition = "additive"), or make the ledger with a part for sums: barrow ledger init --quadrature 9/10.'
)


@singledispatch
def own_notes(answer: Answer) -> list[Note]:
    """What is to be said beside its numbers; by the type of the answer."""
    return []


def notes_of(answer: Answer) -> list[Note]:
    """All that is to be said beside an answer's numbers: by its type, its question and its space.

    >>> from fractions import Fraction
    >>> from barrow.questions import Mean, Terms
    >>> from barrow.spaces import Line
    >>> notes_of(Mean().plan(Terms(Line(0, 100, step=1), 1000, given=Fraction(25))))
    []
    """
    space, own = answer.terms.space, own_notes(answer)
    unproved = [Note(Severity.UNPROVED, text) for text in declared_parts(answer.question, space)]
    limits = [Note(Severity.LIMIT, text) for text in [caveat(space)] if text]
    first = [note for note in own if note.severity is Severity.UNPROVED]
    if answer.terms.squares and not has_square(answer.event):
        own = [*own, Note(Severity.WARNING, _ADDS)]
    return [*first, *unproved, *limits, *(note for note in own if note.severity is not Severity.UNPROVED)]


def warnings(answer: Answer) -> list[str]:
    """Sentences about an answer that would be of little use, and what would help."""
    return texts(own_notes(answer), Severity.WARNING)


def answer_json(answer: Answer) -> Json:
    """Plain data for ``--json``: ``answer`` is what a statement would say of the values."""
    space, guarantee, terms = answer.terms.space, answer.guarantee, answer.terms
    worst, delta = answer.worst_epsilon, float(guarantee.definition.delta_at(1))
    beside = comparison_of(answer)
    return {
        "question": answer.question.to_spec(),
        "description": answer.description,
        "alpha": None if answer.alpha is None else float_up(answer.alpha),
        "delta": float(guarantee.delta),
        "fraction": exact_text(terms.fraction),
        "unit": space.unit,
        "diameter": space.diameter,
        "snapping": space.snapping_upper * space.diameter,
        "users": terms.users,
        "model": terms.model.value,
        **({} if terms.parties is None else terms.parties.to_spec()),
        "error": answer.error,
        "error_unit": answer.error_unit,
        "answer": msgspec.to_builtins(answer.facts()),
        **details(answer),
        "versus": None if beside is None else beside.to_json(),
        "warnings": warnings(answer),
        "grid_costs": grid_costs(terms),
        "records": terms.records.value,
        "record_costs": record_costs(terms),
        "missing_people": missing_people(answer) if terms.model is Model.CENTRAL else None,
        "promises": [float_up(epsilon) for epsilon in charges(answer)],
        "worst_case": {"epsilon": worst, "odds": odds_upper(worst, delta)},
        "guarantee": guarantee.to_json(),
    }


def plan_lines(answer: Answer) -> list[str]:
    """The answer in words, a line each.

    >>> from fractions import Fraction
    >>> from barrow.questions import Mean, Terms
    >>> from barrow.spaces import Line
    >>> plan_lines(Mean().plan(Terms(Line(0, 100, unit="years", step=1), 1000, given=Fraction(25))))[0]
    'Question  the mean over people of the mean of their items (years)'
    """
    terms, notes = answer.terms, notes_of(answer)
    lines = [f"Question  {answer.description}", _rate(answer), *_grid(terms.space)]
    lines += [f"Warning   {text}" for text in grid_costs(terms)]
    if costs := record_costs(terms):
        lines.append(f"Records   {costs}")
    lines += [f"Space     {text}" for text in texts(notes, Severity.LIMIT)]
    if terms.model is Model.CENTRAL:  # who reports themselves is always there
        apart = terms.space.no_records_distance is not None or "no records" not in answer.question.missing
        advice = "" if apart else '; missing = "no records" gives them an item of their own'
        lines.append(f"Missing   {missing_people(answer)}{advice}")
    if terms.parties is not None:
        lines.append(f"Trust     {terms.parties.trusted}")
    lines += answer_lines(answer)
    lines += [f"Warning   {text}" for text in texts(notes, Severity.UNPROVED, Severity.WARNING)]
    lines.append(f"Worst     all data of one person different: ε ≤ {at_most(answer.worst_epsilon)}")
    lines.append(f"Price     {price_words(answer)}{'' if terms.promises else ' of the budget'}")
    return [*lines, *other_lines(answer)]


def brief_lines(answer: Answer, *, several: bool = False) -> list[str]:
    """What to know first: what is asked, how accurate it is, what anyone can learn, and user-level DP beside it.

    Of several answers on one screen only the promise at which anyone can learn the most is said.

    >>> from barrow.questions import Mean, Terms
    >>> from barrow.spaces import Line
    >>> from barrow.promises import Promise
    >>> promises = (Promise("all", "5 years", "0.5"),)
    >>> plan = Mean().plan(Terms(Line(0, 100, unit="years", whole=True, step=1), 1000, promises))
    >>> for line in brief_lines(plan)[:4]:
    ...     print(line)
    Question  the mean over people of the mean of their items (years)
    Error     each value ± 0.03 years (95 %)
    Hidden    all data by 5 years: a 50 % guess can become at most 62.3 % (ε 0.5 of 0.5)
    Worst     all data of one person different: at most 100 % (ε ≤ 10)
    """
    terms, delta = answer.terms, answer.guarantee.definition.delta_at(1)
    error = next((line for line in answer_lines(answer) if line.startswith("Error")), None)
    against = next((line for line in other_lines(answer) if line.startswith("Against")), None)
    if several and against is not None:
        against = against.partition("; at the same worst case")[0]
    problems = [*grid_costs(terms), *texts(notes_of(answer), Severity.UNPROVED, Severity.WARNING)]
    lines = [f"Question  {answer.description}", *(line for line in [error] if line)]
    if terms.parties is not None:
        lines.append(f"Trust     {terms.parties.trusted}")
    lines += [f"Warning   {text}" for text in problems]
    paid_for = list(zip(terms.promises, charges(answer), strict=True))
    if several and len(paid_for) > 1:
        paid_for = [max(paid_for, key=lambda pair: pair[1])]
    for promise, epsilon in paid_for:
        most = percent_up(odds_upper(float_up(epsilon), float_up(answer.guarantee.delta)))
        paid = f"ε {at_most(epsilon)} of {near(promise.epsilon)}"
        move = describe_move(promise, terms.space)
        lines.append(f"Hidden    {move}: a 50 % guess can become at most {most} ({paid})")
    if len(paid_for) < len(terms.promises):
        lines[-1] += "; at other promises less"
    worst = answer.worst_epsilon
    most = percent_up(odds_upper(worst, delta))
    lines.append(f"Worst     all data of one person different: at most {most} (ε ≤ {at_most(worst)})")
    if not terms.promises:
        lines.append(f"Price     {price_words(answer)} of the budget")
    return [*lines, *(line for line in [against] if line)]


def worst_alarm(answer: Answer) -> str | None:
    """What must be said where the worst case of an answer is hardly hidden; else None."""
    return alarm(answer.worst_epsilon, answer.guarantee.definition.delta_at(1), period_unit(answer))


def period_unit(answer: Answer) -> str | None:
    """What one period is called, of a release about one; None for all others."""
    reads = answer.terms.reads
    return None if reads is None or len(reads.periods) > 1 else reads.periods[0].unit


def _rate(answer: Answer) -> str:
    space, delta = answer.terms.space, float(answer.guarantee.delta)
    if answer.alpha is None:
        most = at_most(answer.worst_epsilon, digits=4)
        return f"ε         {most} for every change (user-level DP), δ = {delta:.3g}"
    largest = f"{space.diameter:,.1f} {space.unit}" if space.unit else "largest distance"
    return f"α         {near(answer.alpha, digits=4)} per {largest}, δ = {delta:.3g}"


def _grid(space: Space) -> list[str]:
    if not space.snapping_upper:
        return []
    moved = f"{space.snapping_upper * space.diameter:.3g} {space.unit}".strip()
    whole = may_be_whole(space)
    hint = f"; by nothing if records are {whole} (whole = true)" if whole else ""
    items = f"{space.records_space.items:,} items"
    return [f"Grid      {items}; snapping moves a record by at most {moved} (counted in α){hint}"]
