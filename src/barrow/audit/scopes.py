"""What promises about months cost in a ledger: every change of tiny data sets, against what the ledger has charged.

A person has up to two records in each of two months, at the ends of a line whose middle stands for "no records".
Releases of alpha read windows; the most that they can tell together is alpha times the earth mover's distances of what
they see.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path

from barrow.audit.verdict import Finding, Tally
from barrow.ledger import Budget, Ledger, PromiseLimit, Promises, SpaceRef
from barrow.ledger.errors import OverBudgetError
from barrow.numerics import float_up, gdp_delta_upper
from barrow.promises import Emd, GaussianNoise, Guarantee, KNormNoise
from barrow.promises.periods import Calendar, Window
from barrow.promises.records import NUMBER

_HALF = Fraction(1, 2)
_MONTHS = ("2026-01", "2026-02")
_GRID = SpaceRef("line", "sha256:00", 1, "km", "line km", 0, no_records=_HALF)
_GROUPS = {"region": {"north": 4, "south": 6}, "age": {"young": 5, "old": 5}}
Months = tuple[tuple[int, ...], ...]
"""The records of each month: 0 and 1 are the ends of the line."""
Release = tuple[str, str, int]
"""Which months a release reads (none: everything), how they are pooled, and its alpha."""

_LISTS: dict[str, tuple[Release, ...]] = {
    "one month twice": (("2026-01", "records", 3), ("2026-01", "records", 2)),
    "two months": (("2026-01", "records", 3), ("2026-02", "records", 2)),
    "a month and both": (("2026-01", "records", 3), ("2026-01,2026-02", "records", 2)),
    "both by periods": (("2026-01,2026-02", "periods", 3), ("2026-02", "records", 1)),
    "everything and a month": (("", "records", 3), ("2026-02", "records", 2)),
}
_CHANGES = (("1/2", False), ("1", False), ("1", True))
"""Shares of a month's records that are replaced; whether a month has no records instead."""
_SCOPES = ("any month", "any 2 months", "every month")
_NUMBERS: dict[str, Callable[[Sequence[int]], int]] = {
    "count": lambda held: min(len(held), 2),
    "max": lambda held: 2 * max(held) if held else 1,  # who has no records holds the default, 1
}
_READS = (("2026-01", "records"), ("2026-01,2026-02", "periods"), ("2026-01,2026-02", "records"), ("", "records"))


def audit_scopes() -> list[Finding]:
    """Promises about months and about all records, groups of people, and releases in quadrature."""
    lists = [_audit(name, releases) for name, releases in _LISTS.items()]
    return [*lists, *map(_numbers, _NUMBERS), _all_records(), _groups(), _quadrature()]


def _audit(name: str, releases: Sequence[Release]) -> Finding:
    tally = Tally(f"months, {name}", "central")
    limits = [
        PromiseLimit(share, None, 1000, scope=scope, presence=gone) for scope in _SCOPES for share, gone in _CHANGES
    ]
    charged = iter(_charged(limits, releases))
    for scope in _SCOPES:
        for share, gone in _CHANGES:
            lost = max(_lost(releases, one, other) for one, other in _pairs(scope == "any month", share, gone))
            tally.compared(f"{share} of a month, {scope}, {gone=}", float_up(lost), float_up(next(charged)), 1.0)
    return tally.finding()


def _numbers(what: str) -> Finding:
    """One number of each month's records, from 0 to 2: that of both months moves farther than those of each."""
    tally = Tally(f"months, one number a person: {what}", "central")
    grid = SpaceRef("line", "sha256:00", 2, "visits", f"line visits, {NUMBER}{what}", 0)
    limits = [PromiseLimit(1, 1, 1000, scope=scope) for scope in _SCOPES]
    for reads, pool in _READS:
        for scope, price in zip(_SCOPES, _charged(limits, ((reads, pool, 3),), grid), strict=True):
            lost = 3 * _number_moves(what, reads, pool, scope == "any month") / 2
            words = f"{reads or 'everything'} by {pool}, {scope}"
            tally.compared(words, float_up(lost), float_up(price), 1.0)
    return tally.finding()


@cache
def _number_moves(what: str, reads: str, pool: str, single: bool) -> Fraction:
    """How far the number that is seen moves at most where that of each month moves by 1, in one or in both."""
    made, farthest = _NUMBERS[what], Fraction(0)
    for one, other in itertools.product(itertools.product(_versions(), repeat=2), repeat=2):
        moves = [abs(made(a) - made(b)) for a, b in zip(one, other, strict=True)]
        if max(moves) <= 1 and not (single and all(a != b for a, b in zip(one, other, strict=True))):
            seen = [_number_seen(made, months, reads, pool) for months in (one, other)]
            farthest = max(farthest, abs(seen[0] - seen[1]))
    return farthest


def _number_seen(made: Callable[[Sequence[int]], int], months: Months, reads: str, pool: str) -> Fraction:
    """The number of the months that are read, or the mean of theirs."""
    chosen = [months[_MONTHS.index(month)] for month in reads.split(",")] if reads else list(months)
    if pool == "periods":
        return Fraction(sum(map(made, chosen)), len(chosen))
    return Fraction(made([place for held in chosen for place in held]))


def _all_records() -> Finding:
    """A share of all records, of which one month may hold very few."""
    tally = Tally("months, a share of all records", "central")
    releases: tuple[Release, ...] = (("2026-01", "records", 3),)
    (charged,) = _charged([PromiseLimit("1/4", None, 1000)], releases)
    for elsewhere in itertools.combinations_with_replacement((0, 1), 3):
        lost = _lost(releases, ((0,), elsewhere), ((1,), elsewhere))  # one record of four moves
        tally.compared("one of four records, the only one in January", float_up(lost), float_up(charged), 0.25)
    return tally.finding()


def _groups() -> Finding:
    """People of two groupings pay for the releases about each of their groups."""
    tally = Tally("groups", "central")
    about = [{"region": ["north"]}, {"region": ["south"]}, {"age": ["old"]}, {"age": ["young"]}, {}]
    with tempfile.TemporaryDirectory() as folder:
        ledger = _ledger(folder, [PromiseLimit(1, None, 1000)])
        for number, groups in enumerate(about, start=1):
            _pay(ledger, str(number), number, None, groups)
        charged = ledger.balances()[0].spent.loss
    for region, age in itertools.product(("north", "south"), ("young", "old")):
        atom = {"region": [region], "age": [age]}
        lost = sum(n for n, groups in enumerate(about, start=1) if all(atom[k] == v for k, v in groups.items()))
        tally.compared(f"a person who is {region} and {age}", float(lost), float_up(charged), 1.0)
    return tally.finding()


def _quadrature() -> Finding:
    """As many Gaussian releases as a ledger takes are together within the promise."""
    tally, delta, epsilon = Tally("quadrature", "central"), Fraction(1, 10**6), Fraction(1)
    limit = PromiseLimit(1, None, epsilon, scope="any month")
    with tempfile.TemporaryDirectory() as folder:
        ledger = _ledger(folder, [limit], delta, quadrature=True)
        noise = GaussianNoise("1/10", delta=delta, model="central")
        taken = 0
        while taken < 30:
            try:
                ledger.reserve(
                    key=str(taken), what="a mean", event=noise, guarantee=noise.guarantee(), space=_GRID,
                    dataset="visits", users=10, reads=_window("2026-01" if taken % 2 else "2026-01,2026-02", "records"),
                )  # fmt: skip
            except OverBudgetError:
                break
            taken += 1
        charged = ledger.balances()[0].spent
    # All of them see January: together one Gaussian release of the root of the sum of squares.
    lost = gdp_delta_upper(math.sqrt(taken) / 10, float_up(epsilon))
    tally.compared(f"{taken} Gaussian releases", lost, float_up(delta), 1.0)
    own = gdp_delta_upper(math.sqrt(taken) / 10, float_up(charged.loss)) if taken else 0.0
    tally.compared(f"{taken} Gaussian releases at what is shown as used", own, float_up(charged.delta) * 1.001, 1.0)
    return tally.finding()


def _ledger(
    folder: str,
    limits: Sequence[PromiseLimit],
    delta: Fraction = Fraction(0),
    *,
    quadrature: bool = False,
    metric: str = "line km",
) -> Ledger:
    promises = Promises(limits, delta, quadrature=1 if quadrature else None)
    budget = Budget("visits", 10, metric, promises, calendar=Calendar("month", "UTC"), groups=_GROUPS)
    return Ledger.create(Path(folder) / "visits.ledger", budget)


def _pay(
    ledger: Ledger, key: str, alpha: int, reads: Window | None, groups: dict[str, list[str]], space: SpaceRef = _GRID
) -> None:
    ledger.reserve(
        key=key, what=key, event=KNormNoise(alpha, model="central"),
        guarantee=Guarantee(Emd(alpha), "knorm", "lemma:lin"), space=space, dataset="visits", users=10,
        reads=reads, groups=groups,
    )  # fmt: skip


def _charged(limits: Sequence[PromiseLimit], releases: Sequence[Release], space: SpaceRef = _GRID) -> list[Fraction]:
    """What a ledger says that the releases have used of each promise."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = _ledger(folder, limits, metric=str(space.metric))
        for number, (months, pool, alpha) in enumerate(releases):
            _pay(ledger, str(number), alpha, _window(months, pool), {}, space)
        return [balance.spent.loss for balance in ledger.balances()]


def _window(months: str, pool: str) -> Window | None:
    return Window(Calendar("month", "UTC").parse_range(months), pool) if months else None  # type: ignore[arg-type]


def _versions() -> list[tuple[int, ...]]:
    return [held for size in range(3) for held in itertools.combinations_with_replacement((0, 1), size)]


def _pairs(single: bool, share: str, gone: bool) -> Iterator[tuple[Months, Months]]:
    """All pairs that differ in one month, or in both, by a promised change in each."""
    every = _versions()
    near = [(a, b) for a, b in itertools.product(every, every) if _near(a, b, Fraction(share), gone)]
    same = [(held, held) for held in every]
    ways = [(near, same), (same, near)] if single else [(near, same), (same, near), (near, near)]
    for first, second in ways:
        for (a, b), (c, d) in itertools.product(first, second):
            yield (a, c), (b, d)


def _near(one: tuple[int, ...], other: tuple[int, ...], share: Fraction, gone: bool) -> bool:
    if gone:
        return (not one) != (not other)
    common = sum((Counter(one) & Counter(other)).values())
    return common >= (1 - share) * max(len(one), len(other))


def _lost(releases: Sequence[Release], one: Months, other: Months) -> Fraction:
    """The most that releases can tell: alpha times the earth mover's distance on the points 0, 1/2 and 1 of a line."""
    lost = Fraction(0)
    for months, pool, alpha in releases:
        reads = [_MONTHS.index(month) for month in months.split(",")] if months else [0, 1]
        (low, none), (others_low, others_none) = _seen(one, reads, pool), _seen(other, reads, pool)
        lost += alpha * (abs(low - others_low) + abs(low + none - others_low - others_none)) / 2
    return lost


def _seen(person: Months, reads: Sequence[int], pool: str) -> tuple[Fraction, Fraction]:
    """How much of what is seen of a person stands at 0, and how much is "no records"."""
    parts = (
        [person[month] for month in reads]
        if pool == "periods"
        else [tuple(place for month in reads for place in person[month])]
    )
    low = sum((Fraction(held.count(0), len(held)) for held in parts if held), Fraction(0))
    return low / len(parts), Fraction(sum(not held for held in parts), len(parts))
