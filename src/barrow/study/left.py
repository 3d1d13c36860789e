"""What a ledger leaves of every promise, in the words of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from barrow.errors import BarrowError
from barrow.ledger import Ledger, PromiseLimit
from barrow.ledger.quadrature import square_of
from barrow.numerics.exact import at_least, near
from barrow.promises import Exposure, describe_move
from barrow.questions import Answer
from barrow.questions.prices import charges
from barrow.study.study import Study

_MANY = 1000


def lines_left(study: Study, plans: Sequence[Answer]) -> list[str]:
    """A line for each promise that the study's ledger keeps: what is left, and for how many more releases like these.

    >>> lines_left(Study("line(low=0, high=1, step=0.1)", alpha=5, users=10), [])
    []
    """
    if study.ledger is None or not plans or not study.promises or not _there(study.ledger):
        return []
    reads = plans[0].terms.reads
    try:
        ledger = Ledger.open(study.ledger)
        balances = ledger.remaining(reads=reads)
    except BarrowError:  # which a release says
        return []
    limits = {limit.change: balance for limit, balance in zip(ledger.budget.promises, balances, strict=True)}
    unit = "release" if reads is None else reads.periods[0].unit
    lines = []
    for number, promise in enumerate(study.promises):
        balance = limits.get(PromiseLimit.of(promise, study.space).change)
        if balance is None:
            continue
        price = sum((charges(plan)[number] for plan in plans), Fraction(0))
        left = balance.left.loss
        if balance.square is not None:
            seen = [plan.terms.satisfied[number] for plan in plans]
            squares = [
                square_of(p.event, Exposure(s.share, s.reach, {})) or charges(p)[number] ** 2
                for p, s in zip(plans, seen, strict=True)
            ]
            price, left = sum(squares, Fraction(0)), balance.square
        once = balance.square is None and reads is not None and promise.scope is not None and promise.scope.periods == 1
        if once and left == balance.limit.loss:
            text = f"this {unit}: all of it"
        elif once:
            fits = "" if left >= price else ", too little for this"
            text = f"this {unit}: ε {at_least(left)} of {near(balance.limit.loss)}{fits}"
        else:
            times = _times(left, price)
            text = f"{times} more {unit}{'' if times == '1' else 's'} at this size"
        lines.append(f"{describe_move(promise, study.space)}: {text}")
    return lines


def _times(left: Fraction, price: Fraction) -> str:
    if price <= 0:
        return "any number of"
    times = left // price
    return f"{times:,}" if times <= _MANY else f"over {_MANY:,}"


def _there(place: str) -> bool:
    try:
        return Ledger.exists(place)
    except BarrowError:
        return False
