"""The scope of a promise (in any month, in any 3 months, in every month), and what a release can see of it.

A promise without a scope is about a share of all records of a person. One with a scope is about a change in each of at
most k periods of a public calendar, by a share of each period's own records; outside these periods nothing changes.
What a release can see of such a change depends on the window of periods that it reads (docs/proofs/scopes.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from heapq import nlargest

from barrow.errors import ParameterError
from barrow.promises.periods import UNITS, Calendar, Period, Unit, Window, check_unit
from barrow.promises.records import RecordMap

_ONE = Fraction(1)
_FORM = re.compile(r"(?:in )?(any|every)(?: ([0-9]+|one|each))?(?: of)? ([a-z]+)")
_INSIDE: dict[Unit, tuple[Unit, ...]] = {
    "day": ("day",),
    "week": ("day", "week"),
    "month": ("day", "month"),
    "quarter": ("day", "month", "quarter"),
    "year": ("day", "month", "quarter", "year"),
}
"""Which periods never cross the border of a longer one."""


@dataclass(frozen=True)
class Scope:
    """In how many periods of a calendar a promised change happens at once.

    Args:
        periods: k, the largest number of periods; None for every period.
        unit: What a period is: ``"day"``, ``"week"``, ``"month"``, ``"quarter"`` or ``"year"``.

    >>> [Scope.parse(text) for text in ("any month", "in any 3 months", "in every week")]
    [Scope('any month'), Scope('any 3 months'), Scope('every week')]
    """

    periods: int | None
    unit: Unit

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", check_unit(self.unit))
        if self.periods is not None and (type(self.periods) is not int or not 1 <= self.periods <= 1000):
            raise ParameterError(
                f"A scope has {self.periods!r} periods.", allowed="1 to 1000, or every one", fix='"any 3 months"'
            )

    @classmethod
    def parse(cls, text: str) -> Scope:
        """The scope that ``text`` names; what is not certain is refused.

        >>> Scope.parse("in any months")
        Traceback (most recent call last):
        ...
        barrow.errors.ParameterError: The scope 'in any months' cannot be read.
          allowed: any month, any 3 months, every month; or day, week, quarter or year
          fix:     "in any month"
        """
        words = " ".join(text.lower().split()) if isinstance(text, str) else ""
        match = _FORM.fullmatch(words)
        number = match[2] if match else None
        noun = match[3] if match else ""
        unit, several = noun.removesuffix("s"), noun.endswith("s")
        if match and unit in UNITS:
            if match[1] == "every" and number is None and not several:
                return cls(None, check_unit(unit))
            if match[1] == "any" and number in (None, "one", "1") and not several:
                return cls(1, check_unit(unit))
            if match[1] == "any" and number and number.isdigit() and 2 <= int(number) <= 1000 and several:
                return cls(int(number), check_unit(unit))
        meant = unit if unit in UNITS else "month"
        raise ParameterError(
            f"The scope {text!r} cannot be read.",
            allowed="any month, any 3 months, every month; or day, week, quarter or year",
            fix=f'"in any {meant}"',
        )

    @property
    def text(self) -> str:
        """The scope as :meth:`parse` reads it.

        >>> Scope(3, "month").text, Scope(None, "week").text
        ('any 3 months', 'every week')
        """
        if self.periods is None:
            return f"every {self.unit}"
        return f"any {self.unit}" if self.periods == 1 else f"any {self.periods} {self.unit}s"

    @property
    def words(self) -> str:
        """The scope as the beginning of a clause.

        >>> Scope(1, "month").words, Scope(2, "week").words, Scope(None, "day").words
        ('in any one month', 'in each of any 2 weeks', 'in every day')
        """
        if self.periods is None:
            return f"in every {self.unit}"
        return f"in any one {self.unit}" if self.periods == 1 else f"in each of any {self.periods} {self.unit}s"

    def __repr__(self) -> str:
        return f"Scope({self.text!r})"

    def parts(self, periods: int) -> int:
        """In how many of ``periods`` periods the change happens at most: into so many parts a series divides it.

        >>> Scope(3, "month").parts(12), Scope(3, "month").parts(2), Scope(None, "month").parts(12)
        (3, 2, 12)
        """
        return periods if self.periods is None else min(self.periods, periods)


def implies(stronger: Scope | None, weaker: Scope | None) -> bool:
    """Whether a promise of the first scope keeps the one of the second at the same numbers.

    No scope implies every one, every period any k of them, k any smaller number; longer periods imply shorter ones that
    never cross their borders, because a share of a month's records is no larger a share of its year's.

    >>> month, three, every = (Scope.parse(text) for text in ("any month", "any 3 months", "every month"))
    >>> implies(None, every), implies(every, three), implies(three, month), implies(month, three), implies(month, None)
    (True, True, True, False, False)
    >>> implies(Scope.parse("any year"), month), implies(Scope.parse("any year"), Scope.parse("any week"))
    (True, False)
    """
    if stronger is None or weaker is None:
        return stronger is None
    if weaker.unit not in _INSIDE[stronger.unit]:
        return False
    return stronger.periods is None or (weaker.periods is not None and weaker.periods <= stronger.periods)


@dataclass(frozen=True)
class Exposure:
    """What a release can see of a promised change, at most.

    Args:
        share: The share of what the release sees of a person that moves, for the costliest choice of periods.
        reach: How far it moves on average, as a share of the diameter.
        cells: The periods of the promise in which the release is charged, by label, and the part of its price that
            each one takes; none where it is charged whichever periods change.

    >>> Exposure(Fraction(1, 30), Fraction(1), {"2026-10": Fraction(1)}).share
    Fraction(1, 30)
    """

    share: Fraction
    reach: Fraction
    cells: dict[str, Fraction]


def exposure(
    scope: Scope | None,
    share: Fraction,
    distance: Fraction | None,
    *,
    reads: Window | None = None,
    records: RecordMap = RecordMap.CONTRACTION,
    snapping: Fraction = Fraction(0),
    presence: Fraction | None = None,
    number: bool = False,
) -> Exposure:
    """What a release that reads a window can see of a promised change: the one rule of plan, ledger and statement.

    Lemma 1, its corollary and Theorem 2 of docs/proofs/scopes.md. The price of the release at the promise is
    :func:`barrow.accounting.epsilon_at` at this share and reach.

    Args:
        scope: The promise's scope; None for a share of all records.
        share: tau, the share of the records that change.
        distance: q, how far they move on average, as a share of the diameter; None for any distance, 0 where what
            changes is nothing that the release reads (docs/proofs/private-groups.md, section 3).
        reads: The window that the release reads; None for everything, by records.
        records: How records become items.
        snapping: rho.
        presence: For a promise about whether there are records at all, how far "no records" is from every item.
        number: Whether each person's records became one number, of which a promise with a scope is about the one of a
            period: of several periods together another number is made, and nobody knows how far that one moves.

    >>> month, tau = Scope.parse("any month"), Fraction(1, 30)
    >>> october = Window((Period.parse("2026-10"),))
    >>> exposure(month, tau, None, reads=october)
    Exposure(share=Fraction(1, 30), reach=Fraction(1, 1), cells={'2026-10': Fraction(1, 1)})
    >>> exposure(None, tau, None, reads=october).share  # one record of October may be one of very many in all
    Fraction(1, 1)
    """
    if distance == 0 and records is not RecordMap.FILTER:
        return Exposure(share, Fraction(0), {})
    moved = records.reach_upper(share, distance, snapping)
    if reads is None:
        everything = scope is not None and (number or (presence is not None and share == 1))
        return Exposure(*((_ONE, _ONE) if everything else moved), {})
    if scope is None:
        return Exposure(_ONE, _ONE, {})
    weights, whole, single = _met(scope.unit, reads)
    if not whole or (number and not single):
        moved = (_ONE, _ONE)
    elif presence is not None and share == 1:
        moved = (_ONE, presence if single and records is not RecordMap.FILTER else _ONE)
    if scope.periods is None:
        return Exposure(*moved, {})
    together = min(_ONE, sum(nlargest(scope.periods, weights.values()), Fraction(0)))
    cells = {label: min(_ONE, weight / together) for label, weight in weights.items()}
    return Exposure(moved[0] * together, moved[1], cells)


def _met(unit: Unit, reads: Window) -> tuple[dict[str, Fraction], bool, bool]:
    """The promised periods that a window meets, with what each can move of what is seen.

    Also whether the window sees no part of one only, and whether all that counts alike in it is of one of them.
    """
    weights: dict[str, Fraction] = {}
    whole, single = True, True
    by_periods = reads.pool == "periods"
    for period in reads.periods:
        met = _periods(unit, period)
        single = single and len(met) == 1
        for promised in met:
            weight = reads.weight(period) if by_periods else _ONE
            weights[promised.label] = weights.get(promised.label, Fraction(0)) + weight if by_periods else _ONE
            seen = (period,) if by_periods else reads.periods
            whole = whole and _covers(seen, promised)
    return weights, whole, single and (by_periods or len(reads.periods) == 1)


def _periods(unit: Unit, period: Period) -> list[Period]:
    """The periods of ``unit`` that share a day with ``period``."""
    promised = Calendar(unit, "UTC").period_of(period.first)
    results = [promised]
    while promised.last < period.last:
        promised = promised.next()
        results.append(promised)
    return results


def _covers(seen: Iterable[Period], promised: Period) -> bool:
    """Whether every day of ``promised`` is in one of ``seen``, which are of one unit."""
    periods = {period.first: period for period in seen}
    calendar = Calendar(next(iter(periods.values())).unit, "UTC")
    day = promised.first
    while day <= promised.last:
        period = periods.get(calendar.period_of(day).first)
        if period is None:
            return False
        day = period.last + timedelta(days=1)
    return True


def scope_of(scope: Scope | str | None) -> Scope | None:
    """A scope, its text, or none.

    >>> scope_of("any month"), scope_of(None)
    (Scope('any month'), None)
    """
    return Scope.parse(scope) if isinstance(scope, str) else scope
