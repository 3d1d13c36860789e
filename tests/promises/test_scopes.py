"""Scopes: what a release that reads a window can see of a promised change, by exact enumeration of small persons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from heapq import nlargest
from itertools import combinations_with_replacement, pairwise, product

import pytest

from barrow.errors import ParameterError
from barrow.promises import (
    Exposure,
    GaussianNoise,
    KNormNoise,
    Promise,
    PureRelease,
    RecordMap,
    Scope,
    UserLevelRelease,
    exposure,
    implies,
)
from barrow.promises.events import PersonGaussianNoise, PersonKNormNoise
from barrow.promises.periods import Calendar, Period, Window

Records = tuple[Fraction, ...]
"""A person's records of one period: places on a line, sorted."""
Person = tuple[Records, ...]
F = Fraction
MONTHS = Calendar("month", "UTC").parse_range("2026-01..2026-03")
HERE = F(1, 2)
"""Where people without records stand: in the middle of a line from 0 to 1, half the largest distance from both ends."""


def emd(one: dict[Fraction, Fraction], other: dict[Fraction, Fraction]) -> Fraction:
    """The earth mover's distance of two measures on a line: the area between their distribution functions."""
    places = sorted({*one, *other})
    area, ahead = F(0), F(0)
    for here, there in pairwise(places):
        ahead += one.get(here, F(0)) - other.get(here, F(0))
        area += abs(ahead) * (there - here)
    return area


def uniform(records: Sequence[Fraction]) -> dict[Fraction, Fraction]:
    if not records:
        return {HERE: F(1)}
    return {place: F(count, len(records)) for place, count in Counter(records).items()}


def seen(person: Person, window: Window | None) -> dict[Fraction, Fraction]:
    """What a release that reads ``window`` sees of a person whose data are in the first months of 2026."""
    if window is None:
        return uniform([place for records in person for place in records])
    read = [MONTHS.index(period) for period in window.periods]
    if window.pool == "records":
        return uniform([place for month in read for place in person[month]])
    mixed: dict[Fraction, Fraction] = {}
    for month, period in zip(read, window.periods, strict=True):
        for place, mass in uniform(person[month]).items():
            mixed[place] = mixed.get(place, F(0)) + window.weight(period) * mass
    return mixed


def moved(one: Records, other: Records) -> tuple[int, Fraction]:
    """How few records move, and how far together (on a line in order, among those that must)."""
    left, right = Counter(one) - Counter(other), Counter(other) - Counter(one)
    pairs = list(zip(sorted(left.elements()), sorted(right.elements()), strict=True))
    return len(pairs), sum((abs(a - b) for a, b in pairs), F(0))


def near(tau: Fraction, q: Fraction | None) -> Callable[[Records, Records], bool]:
    """Whether two versions of a period are a change (tau, q) apart; q = None for any distance, missing records too."""

    def check(one: Records, other: Records) -> bool:
        if q is None:
            common = sum((Counter(one) & Counter(other)).values())
            return common >= (1 - tau) * max(len(one), len(other))
        if len(one) != len(other):
            return False
        many, far = moved(one, other)
        return many <= tau * len(one) and far <= tau * q * len(one)

    return check


def versions(places: Sequence[Fraction], sizes: range) -> list[Records]:
    return [tuple(result) for size in sizes for result in combinations_with_replacement(places, size)]


def pairs(
    months: int, k: int | None, changed: list[tuple[Records, Records]], same: list[Records]
) -> Iterator[tuple[Person, Person]]:
    """Persons that differ in at most k months, in each by one of ``changed``."""
    still = [(records, records) for records in same]
    for choice in product((False, True), repeat=months):
        if 0 < sum(choice) <= (months if k is None else k):
            for both in product(*(changed if differs else still for differs in choice)):
                yield tuple(a for a, _ in both), tuple(b for _, b in both)


def total(scope: Scope | None, seens: Sequence[Exposure], alphas: Sequence[Fraction]) -> Fraction:
    """The corollary: what releases of ``alphas`` cost together; pooled windows in each period, or once everywhere."""
    k, results = None if scope is None else scope.periods, []
    for in_cells in (False, True):
        everywhere, cells = F(0), Counter[str]()
        for one, alpha in zip(seens, alphas, strict=True):
            price = alpha * one.share * one.reach
            placed = len(one.cells) == 1 or (in_cells and one.cells)
            everywhere += 0 if placed else price
            for label, part in one.cells.items() if placed else ():
                cells[label] += price * part  # type: ignore[assignment]
        results.append(everywhere + sum(nlargest(len(cells) if k is None else k, cells.values()), F(0)))
    return min(results)


def window(months: str, pool: str = "records", weights: Sequence[Fraction] | None = None) -> Window:
    periods = tuple(MONTHS[int(month) - 1] for month in months)
    return Window(periods, pool, None if weights is None else tuple(weights))  # type: ignore[arg-type]


ENDS, LINE = (F(0), F(1)), (F(0), F(1, 2), F(1))
RELEASES: dict[str, list[Window | None]] = {
    "one month": [window("1")],
    "one month twice": [window("1"), window("1")],
    "two months": [window("1"), window("2")],
    "a month and both together": [window("1"), window("12")],
    "both by periods": [window("12", "periods", (F(1, 3), F(2, 3))), window("2")],
    "everything and a month": [None, window("2")],
}
ALPHAS = (F(3), F(2))
CHANGES = [(F(1, 2), F(1, 2)), (F(1, 2), None), (F(1), F(1, 2)), (F(1), None)]


def worst(
    scope: Scope, tau: Fraction, q: Fraction | None, windows: Sequence[Window | None], sizes: range = range(3)
) -> Fraction:
    """The largest loss of releases of ALPHAS together, over all persons of up to 2 records a month."""
    every = versions(ENDS if q is None else LINE, sizes)
    close = near(tau, q)
    changed = [(a, b) for a, b in product(every, every) if a != b and close(a, b)]
    largest = F(0)
    for one, other in pairs(2, scope.periods, changed, every):
        lost = sum(
            alpha * emd(seen(one, reads), seen(other, reads)) for alpha, reads in zip(ALPHAS, windows, strict=False)
        )
        largest = max(largest, lost)  # type: ignore[assignment]
    return largest


@pytest.mark.parametrize("text", ["any month", "any 2 months", "every month"])
@pytest.mark.parametrize("name", RELEASES)
def test_no_pair_costs_more_and_some_pair_costs_as_much(name: str, text: str) -> None:
    scope, windows, equal = Scope.parse(text), RELEASES[name], 0
    alphas = ALPHAS[: len(windows)]
    for tau, q in CHANGES:
        price = total(scope, [exposure(scope, tau, q, reads=reads) for reads in windows], alphas)
        result = worst(scope, tau, q, windows)
        assert result <= price
        equal += result == price
    assert equal == len(CHANGES)


def _loss(windows: Sequence[Window | None], tau: Fraction, q: Fraction | None, text: str = "any month") -> Fraction:
    return worst(Scope.parse(text), tau, q, windows)


def test_a_second_release_about_a_month_is_not_free() -> None:
    assert all(_loss(RELEASES["one month twice"], tau, q) > max(ALPHAS) * tau * (q or 1) for tau, q in CHANGES)


def test_a_pooled_release_costs_its_whole_price_in_each_month() -> None:
    month, tau = Scope.parse("any month"), F(1, 2)
    pooled = exposure(month, tau, None, reads=window("12"))
    assert pooled.cells == {"2026-01": 1, "2026-02": 1}
    halved = ALPHAS[0] * pooled.share / 2
    assert _loss([window("12")], tau, None) > halved


def test_two_months_that_both_change_cost_the_sum() -> None:
    assert all(
        _loss(RELEASES["two months"], tau, q, "any 2 months") > max(ALPHAS) * tau * (q or 1) for tau, q in CHANGES
    )


@pytest.mark.parametrize(
    ("reads", "reach"),
    [(window("1"), HERE), (window("12", "periods"), HERE), (window("12"), F(1)), (None, F(1))],
    ids=["a month", "by periods", "by records", "everything"],
)
def test_whether_there_are_records_in_a_month(reads: Window | None, reach: Fraction) -> None:
    """Half the largest distance where the month stands alone; near 1 where the other months' records stay."""
    month = Scope.parse("any month")
    price = exposure(month, F(1), None, reads=reads, presence=HERE)
    every = versions(ENDS, range(4))
    changed = [pair for records in every if records for pair in ((records, ()), ((), records))]
    result = max(emd(seen(a, reads), seen(b, reads)) for a, b in pairs(2, 1, changed, every))
    assert result <= price.share * price.reach
    assert price.reach == reach
    planted = price.share * HERE
    assert (result > planted) == (reach == 1)  # h for presence in a pooled release is broken


def test_a_window_at_a_share_of_all_records_costs_the_worst_case() -> None:
    """One record in January and three in February: a share of 1/4 is all that is seen of January."""
    tau, q = F(1, 4), F(1)
    price = exposure(None, tau, q, reads=window("1"))
    assert (price.share, price.reach, price.cells) == (1, 1, {})
    linear, result = tau * q, F(0)
    for one in product(versions(ENDS, range(1, 4)), repeat=2):
        for other in product(versions(ENDS, range(1, 4)), repeat=2):
            if [len(part) for part in one] != [len(part) for part in other]:
                continue
            many, far = map(sum, zip(*(moved(a, b) for a, b in zip(one, other, strict=True)), strict=True))
            size = sum(map(len, one))
            if many <= tau * size and far <= tau * q * size:
                result = max(result, emd(seen(one, window("1")), seen(other, window("1"))))
    assert linear < result == price.share * price.reach


def test_months_that_count_alike_are_a_knapsack_for_linear_losses_alone() -> None:
    """Half of a year of two months that count alike: one month whole, or both by a half. "In any month" is too little
    for losses that are not proportional to the share."""
    month, ratio = Scope.parse("any month"), F(1, 2)

    def ramp(records: Records) -> Fraction:  # from 0 to 1 while half of the records go from 0 to 1: L = 2, B = 1
        return min(2 * sum(records, F(0)) / len(records), F(1))

    worst_of: dict[str, Fraction] = dict.fromkeys(("emd", "whole user", "person"), F(0))
    every = versions(ENDS, range(1, 3))
    for one, other in product(product(every, repeat=2), repeat=2):
        if any(len(a) != len(b) for a, b in zip(one, other, strict=True)):
            continue
        shares = [F(moved(a, b)[0], len(a)) for a, b in zip(one, other, strict=True)]
        if sum(shares) > 1:
            continue
        pairs_of = list(zip(ALPHAS, one, other, strict=True))
        losses = {
            "emd": sum(alpha * emd(uniform(a), uniform(b)) for alpha, a, b in pairs_of),
            "whole user": sum(alpha for alpha, a, b in pairs_of if a != b),
            "person": sum(alpha * ratio * abs(ramp(a) - ramp(b)) for alpha, a, b in pairs_of),
        }
        worst_of = {name: max(worst_of[name], F(lost)) for name, lost in losses.items()}
    seens = [exposure(month, F(1), None, reads=window(text)) for text in "12"]
    assert worst_of["emd"] == total(month, seens, ALPHAS) == max(ALPHAS)  # T tau = 1
    assert worst_of["whole user"] == sum(ALPHAS)
    person = PersonKNormNoise(max(ALPHAS), model="central", range_ratio=ratio)
    assert worst_of["person"] == F(5, 2) > person.epsilon_at(seens[0].share, seens[0].reach, F(0)) == F(3, 2)


def test_records_that_cross_a_border_are_a_change_of_two_months() -> None:
    """Theorem 3: no promise about any one month pays for them; one about any 2 does."""
    one, two, broken = Scope.parse("any month"), Scope.parse("any 2 months"), 0
    windows = [window("1"), window("2")]
    for first, second in product(versions(ENDS, range(1, 4)), repeat=2):
        for record in sorted(set(first)):
            left = list(first)
            left.remove(record)
            after = (tuple(left), tuple(sorted((*second, record))))
            tau = max(F(1, len(first)), F(1, len(second) + 1))
            lost = sum(
                alpha * emd(seen((first, second), reads), seen(after, reads))
                for alpha, reads in zip(ALPHAS, windows, strict=True)
            )
            prices = [total(s, [exposure(s, tau, None, reads=w) for w in windows], ALPHAS) for s in (one, two)]
            assert lost <= prices[1]
            broken += lost > prices[0]
    assert broken > 10


def test_three_months_and_overlapping_windows() -> None:
    windows = [window("12"), window("23"), window("123", "periods")]
    alphas, tau = (F(2), F(3), F(1)), F(1, 2)
    every = versions(ENDS, range(1, 3))
    changed = [(a, b) for a, b in product(every, every) if a != b and near(tau, None)(a, b)]
    for k in (1, 2, 3):
        scope = Scope(k, "month")
        price = total(scope, [exposure(scope, tau, None, reads=reads) for reads in windows], alphas)
        result = max(
            sum(al * emd(seen(a, w), seen(b, w)) for al, w in zip(alphas, windows, strict=True))
            for a, b in pairs(3, k, changed, every)
        )
        assert result <= price
        if k == 1:  # by records the others must have no records: then the share is all of what is read
            assert result > F(9, 10) * price * F(2, 3)


@pytest.mark.parametrize(
    ("text", "reads", "share", "cells"),
    [
        ("any month", "2026-10-07", 1, ["2026-10"]),  # a day is a part of a month
        ("any month", "2026-W40", 1, ["2026-09", "2026-10"]),
        ("any month", "2026-Q4", F(1, 30), ["2026-10", "2026-11", "2026-12"]),
        ("any quarter", "2026-10", 1, ["2026-Q4"]),
        ("any quarter", "2026-10..2026-12", F(1, 30), ["2026-Q4"]),
        ("any quarter", "2026-10..2027-01", 1, ["2026-Q4", "2027-Q1"]),
        ("any week", "2026-10-05..2026-10-11", F(1, 30), ["2026-W41"]),
        ("every month", "2026-10", F(1, 30), []),
        ("every month", "2026-10-07", 1, []),
    ],
)
def test_parts_of_promised_periods_cost_the_worst_case(
    text: str, reads: str, share: Fraction, cells: list[str]
) -> None:
    unit = Period.parse(reads.split("..")[0]).unit
    result = exposure(Scope.parse(text), F(1, 30), F(1, 4), reads=Window(Calendar(unit, "UTC").parse_range(reads)))
    assert result.share == share
    assert result.reach == (1 if share == 1 else F(1, 4))
    assert list(result.cells) == cells
    assert set(result.cells.values()) <= {1}


def test_months_by_periods_are_parts_of_a_quarter() -> None:
    months = Window(Calendar("month", "UTC").parse_range("2026-10..2026-12"), "periods")
    assert exposure(Scope.parse("any quarter"), F(1, 30), None, reads=months).share == 1
    assert exposure(Scope.parse("any month"), F(1, 30), None, reads=months).share == F(1, 90)
    assert exposure(Scope.parse("any 2 months"), F(1, 30), None, reads=months).share == F(1, 45)
    assert exposure(Scope.parse("every month"), F(1, 30), None, reads=months).share == F(1, 30)


def test_a_filter_costs_the_worst_case_in_its_window_and_jumps_the_largest_distance() -> None:
    month = Scope.parse("any month")
    behind = exposure(month, F(1, 30), F(1, 4), reads=window("1"), records=RecordMap.FILTER)
    assert (behind.share, behind.reach, list(behind.cells)) == (1, 1, ["2026-01"])
    jumps = exposure(month, F(1, 30), F(1, 4), reads=window("1"), records=RecordMap.JUMPS, snapping=F(1, 9))
    assert (jumps.share, jumps.reach) == (F(1, 30), 1)


@pytest.mark.parametrize(
    "text",
    ["month", "any months", "any 3 month", "every 3 months", "every months", "any 0 months", "any 2.5 months",
     "any fortnight", "each month", "any 3 consecutive months", "any 1 months", "", "in", "any each month"],
)  # fmt: skip
def test_scopes_that_are_not_certain_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="scope") as error:
        Scope.parse(text)
    assert error.value.fix.startswith('"in any ')


@pytest.mark.parametrize("text", ["any month", "any 3 weeks", "every quarter", "any year", "any 2 days"])
def test_scopes_are_read_as_they_are_written(text: str) -> None:
    scope = Scope.parse(f"In  {text.upper()}")
    assert scope.text == text
    assert Scope.parse(scope.text) == scope
    promise = Promise.parse(f"1 day of 30, 10 km, 0.5, in {text}")
    assert promise == Promise("1 day of 30", "10 km", "0.5", scope=text)
    assert Promise.parse(promise.text) == promise
    assert promise != Promise("1 day of 30", "10 km", "0.5")


def test_a_scope_that_another_implies_costs_no_more() -> None:
    """At the same numbers, for every window that is tried: the order that a ledger may only go up."""
    scopes = [None, *map(Scope.parse, ("every quarter", "every month", "any 3 months", "any month", "any day"))]
    lists = [[window("1"), window("2")], [window("123")], [window("12"), None], [window("123", "periods")]]
    for stronger, weaker in product(scopes, scopes):
        if implies(stronger, weaker):
            for windows in lists:
                prices = [
                    total(s, [exposure(s, F(1, 4), F(1, 2), reads=w) for w in windows], (F(2), F(3))[: len(windows)])
                    for s in (stronger, weaker)
                ]
                assert prices[0] >= prices[1], (stronger, weaker, windows)
    assert not any(implies(weaker, stronger) for stronger, weaker in pairwise(scopes))


def test_noise_whose_price_shrinks_with_the_change_and_noise_whose_price_does_not() -> None:
    """By periods a release is charged a part of its price in each period only if a part of a change costs no more."""
    built = [kind(6, model="central", range_ratio="1/10") for kind in (KNormNoise, PersonKNormNoise)]
    built += [
        kind(3, delta="1e-9", model="central", range_ratio="1/10") for kind in (GaussianNoise, PersonGaussianNoise)
    ]
    for event in [*built, PureRelease(5, model="central"), UserLevelRelease(1, model="central")]:
        whole = event.epsilon_at(F(1, 2), F(1), event.delta)
        parts = [event.epsilon_at(F(1, 2) * x, F(1), event.delta) <= x * whole * (1 + F(1, 10**9)) for x in SHARES]
        assert all(parts) == event.shrinks, event


SHARES = [F(1, 20), F(1, 10), F(1, 3), F(9, 10)]
