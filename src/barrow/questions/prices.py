"""What an answer costs: at each promise, on its grid, for how records become items, for people without records."""

from __future__ import annotations

from fractions import Fraction

from barrow.accounting import epsilon_at
from barrow.numerics import float_up
from barrow.numerics.exact import at_most, near
from barrow.planning.terms import Terms
from barrow.promises import Promise, RecordMap, describe_move, odds_upper, percent_up
from barrow.questions.answer import Answer
from barrow.spaces.grids import may_be_whole

_LOUD = 2
"""A grid that makes a promise cost so many times its distance is spoken of."""
_FINER = 'finer ones cost less (cell = "auto" finds the best)'


def charge(answer: Answer, share: Fraction, reach: Fraction) -> Fraction:
    """The epsilon, exact, that a release costs if ``share`` of a person's items move by ``reach`` on average."""
    return epsilon_at(answer.event, share, reach, answer.guarantee.delta)


def charges(answer: Answer) -> tuple[Fraction, ...]:
    """For each promise of the terms the epsilon, exact, that a release costs there.

    >>> from barrow.promises import Promise
    >>> from barrow.questions import Mean
    >>> from barrow.spaces import Line
    >>> charges(Mean().plan(Terms(Line(0, 9, step=1), 9, (Promise("all", "anywhere", "0.5"),))))
    (Fraction(1, 2),)
    """
    return tuple(charge(answer, satisfied.share, satisfied.reach) for satisfied in answer.terms.satisfied)


def price_words(answer: Answer) -> str:
    """What the ledger is charged with, in words."""
    guarantee, terms = answer.guarantee, answer.terms
    delta = f"δ {float(guarantee.delta):.3g}"
    if terms.promises:
        paid = [
            f"ε {at_most(epsilon)} of {near(promise.epsilon)} ({describe_move(promise, terms.space)})"
            for promise, epsilon in zip(terms.promises, charges(answer), strict=True)
        ]
        return ", ".join([*paid, *([delta] if guarantee.delta else [])])
    if guarantee.alpha is None:
        return f"ε {float_up(guarantee.definition.parameters['epsilon']):.4g}, {delta}"
    return f"α {float_up(guarantee.alpha):.4g}, {delta}"


def grid_costs(terms: Terms) -> list[str]:
    """A sentence for each promise that the grid, or the window of a release, makes cost twice as much as it asks."""
    space, results = terms.space, []
    for satisfied in terms.satisfied:
        if terms.reads is not None and satisfied.emd == 1 and _LOUD * satisfied.promise.share * satisfied.distance <= 1:
            results.append(_part_words(satisfied.promise, terms.reads.periods[0].unit))
        elif (
            terms.records is RecordMap.CONTRACTION
            and satisfied.distance
            and satisfied.reach >= _LOUD * satisfied.distance
        ):
            times = float(satisfied.reach / satisfied.distance)
            far = near(float(satisfied.reach) * space.diameter, space.unit)
            far = far if space.unit else f"{far} of the largest distance"
            kind = may_be_whole(space)
            less = f"if all records are {kind}, whole = true costs nothing" if kind else _FINER
            results.append(
                f'The promise "{satisfied.promise.text}" is charged as {far} on these cells, {times:.3g} times its '
                f"distance; {less}"
            )
    return results


def _part_words(promise: Promise, unit: str) -> str:
    """Why a release that sees a part of what a promise is about pays its worst case (docs/proofs/scopes.md)."""
    if promise.scope is None:
        whole, less = "all data of a person", f'"{promise.text}, in any {unit}" costs less'
    else:
        whole, less = f"whole {promise.scope.unit}s", f"a release about a whole {promise.scope.unit} costs less"
    return (
        f'The promise "{promise.text}" is about {whole}, and a release about one {unit} pays for it as if all records '
        f"had moved anywhere, because what changes may be all that a person has there; {less}"
    )


def record_costs(terms: Terms) -> str:
    """Why promises cost more than the distance that records move, and what would cost less; mostly nothing."""
    records = terms.records
    text = records is not RecordMap.CONTRACTION and (terms.promises or records is RecordMap.FILTER)
    return f"{records.words}; {records.advice}" if text else ""


def finer_gain(terms: Terms) -> float:
    """How many times larger alpha would be on cells a quarter as wide."""
    rho, satisfied = Fraction(terms.space.snapping_upper), terms.satisfied
    if not rho or not satisfied or terms.records is not RecordMap.CONTRACTION:
        return 1.0
    here = [one.promise.epsilon / (one.promise.share * (one.distance + 2 * rho)) for one in satisfied]
    finer = [one.promise.epsilon / (one.promise.share * (one.distance + rho / 2)) for one in satisfied]
    return float(min(finer) / min(here))


def finer_words(terms: Terms) -> str:
    """That finer cells would help most; empty where they would not."""
    gain = finer_gain(terms)
    words = f"Finer cells would help most: a quarter as wide, they allow an alpha {gain:.2g} times larger."
    return words if gain >= 2.0 else ""


def _of_largest(apart: float) -> str:
    """A distance of a space without a unit.

    >>> _of_largest(1.0), _of_largest(0.5)
    ('the largest distance', '0.5 of the largest distance')
    """
    return "the largest distance" if apart == 1.0 else near(apart, "of the largest distance", digits=4)


def missing_people(answer: Answer) -> str:
    """What people without records count as, and how well it is hidden that somebody is one of them."""
    space = answer.terms.space
    if space.no_records_distance is None:
        return (
            f"people without records count as holding the public item {space.label(space.default_item)!r}, and "
            "cannot be told from people whose records are there"
        )
    epsilon = float_up(charge(answer, Fraction(1), space.no_records_distance))
    apart = float(space.no_records_distance)
    far = near(apart * space.diameter, space.unit, digits=4) if space.unit else _of_largest(apart)
    default = space.label(space.records_space.default_item)
    # A ledger of alpha may be about the space without this item, and every promise is about records that move.
    counted = f", also from people whose records are all at {default!r}, which a ledger of alpha counts as the same"
    odds = percent_up(odds_upper(epsilon, float_up(answer.guarantee.delta)))
    return (
        f"people without records count as holding the public item 'no records', {far} from every other; whether "
        f"somebody is one of them is hidden at ε = {at_most(epsilon)} (a 50 % guess can become at most "
        f"{odds}){'' if answer.terms.promises else counted}"
    )
