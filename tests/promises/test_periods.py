"""Periods of a calendar: labels, borders, ranges, the clock in the zone; a second route by counting days."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.errors import ParameterError
from barrow.promises.periods import UNITS, Calendar, Period, Unit, Window

_DAYS = st.dates(date(1990, 1, 1), date(2090, 12, 31))


def _same(unit: Unit, a: date, b: date) -> bool:
    """Whether two days are in one period, by their own numbers and not by first days."""
    keys = {
        "day": lambda d: d,
        "week": lambda d: d.isocalendar()[:2],
        "month": lambda d: (d.year, d.month),
        "quarter": lambda d: (d.year, (d.month - 1) // 3),
        "year": lambda d: d.year,
    }
    return bool(keys[unit](a) == keys[unit](b))


@given(_DAYS, st.sampled_from(UNITS), st.integers(-400, 400))
def test_a_period_holds_exactly_the_days_of_its_label(day: date, unit: Unit, days: int) -> None:
    period = Calendar(unit, "UTC").period_of(day)
    other = day + timedelta(days=days)
    assert (period.first <= other <= period.last) == _same(unit, day, other)


@given(_DAYS, st.sampled_from(UNITS))
def test_labels_are_read_back_and_periods_leave_no_gap(day: date, unit: Unit) -> None:
    period = Calendar(unit, "UTC").period_of(day)
    assert Calendar(unit, "UTC").parse(period.label) == period == Period.parse(period.label)
    assert period.next().first == period.last + timedelta(days=1)
    assert period.next().previous() == period < period.next()


@pytest.mark.parametrize(
    ("label", "first", "last"),
    [
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("2026-W01", "2025-12-29", "2026-01-04"),
        ("2026-W53", "2026-12-28", "2027-01-03"),
        ("2026-Q1", "2026-01-01", "2026-03-31"),
        ("2024", "2024-01-01", "2024-12-31"),
        ("2024-02-29", "2024-02-29", "2024-02-29"),
    ],
)
def test_borders(label: str, first: str, last: str) -> None:
    period = Period.parse(label)
    assert (period.first.isoformat(), period.last.isoformat()) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        *("", "2026-13", "2026-00", "2025-W53", "2026-W00", "2026-Q5", "2026-Q0", "2026-02-29", "26-10", "2026-1"),
        *("0001", "2026/10", "October 2026", "2026-10-7", "２０２６", "9999", "2026-10 ..", "last", "2026-W41-1"),
    ],
)
def test_what_is_no_period_is_refused_with_a_fix(text: str) -> None:
    with pytest.raises(ParameterError) as sentence:
        Period.parse(text)
    assert sentence.value.fix
    assert sentence.value.allowed


def test_a_period_of_another_unit_is_refused_in_words() -> None:
    with pytest.raises(ParameterError, match=r"'2026' is a year, and the periods of this study are weeks\."):
        Calendar("week", "UTC").parse("2026")


@pytest.mark.parametrize(
    ("unit", "text", "labels"),
    [
        ("month", "2025-11..2026-02", "2025-11 2025-12 2026-01 2026-02"),
        ("month", "2026-03,2026-01", "2026-01 2026-03"),
        ("week", "2026-W52..2027-W02", "2026-W52 2026-W53 2027-W01 2027-W02"),
        ("quarter", " 2026-Q4 .. 2027-Q1 , 2027-Q3 ", "2026-Q4 2027-Q1 2027-Q3"),
        ("day", "2024-02-28..2024-03-01", "2024-02-28 2024-02-29 2024-03-01"),
        ("year", "2026..2026", "2026"),
    ],
)
def test_ranges_and_lists(unit: Unit, text: str, labels: str) -> None:
    assert [period.label for period in Calendar(unit, "UTC").parse_range(text)] == labels.split()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2026-03..2026-01", "ends before it begins"),
        ("2026-01..2026-03,2026-02", "has 2026-02 twice"),
        ("2026-01,", "cannot be read"),
        ("2026-01..", "cannot be read"),
        ("2026-01..2026-03..2026-05", "cannot be read"),
        ("1900-01..2026-01", "more than 1000"),
    ],
)
def test_bad_ranges(text: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Calendar("month", "UTC").parse_range(text)


@pytest.mark.parametrize("zone", ["", "Europe/Berln", "../etc/passwd", "/etc/passwd", "localtime", "+01:00", "CEST "])
def test_zones_are_names_of_the_database(zone: str) -> None:
    with pytest.raises(ParameterError, match="time zone"):
        Calendar("month", zone)


def test_a_near_zone_is_suggested() -> None:
    with pytest.raises(ParameterError) as text:
        Calendar("month", "Europe/Berln")
    assert text.value.fix == 'zone = "Europe/Berlin"'


def test_units_are_suggested() -> None:
    with pytest.raises(ParameterError) as text:
        Calendar("months", "UTC")  # type: ignore[arg-type]
    assert text.value.fix == "'month'"


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Pacific/Apia", "Asia/Kathmandu"])
@pytest.mark.parametrize("unit", UNITS)
def test_the_last_period_ends_by_the_clock_of_the_zone(zone: str, unit: Unit) -> None:
    """At the last moment of a period it has not ended; at the first of the next it has: over days with 23 and 25
    hours, and in Apia over a day that was left out."""
    calendar, instant = Calendar(unit, zone), datetime(2011, 12, 25, tzinfo=UTC)
    for hour in range(24 * 400):
        now = instant + timedelta(hours=hour)
        before, after = (calendar.last_ended(t) for t in (now, now + timedelta(hours=1)))
        if before == after:
            continue
        days = [(t.astimezone(ZoneInfo(zone))).date() for t in (now, now + timedelta(hours=1))]
        assert not _same(unit, *days)
        assert before < after
        assert after.last < days[1] <= after.next().last
        assert before.last < days[0] <= before.next().last


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ParameterError, match="no time zone"):
        Calendar("month", "UTC").last_ended(datetime(2026, 10, 1))


def test_windows_are_kept_in_the_order_of_time_with_their_weights() -> None:
    october, november = Period.parse("2026-10"), Period.parse("2026-11")
    window = Window((november, october), "periods", (Fraction(1, 3), Fraction(2, 3)))
    assert window.weight(october) == Fraction(2, 3)
    assert window.weight(november) == Fraction(1, 3)
    assert window == Window((october, november), "periods", (Fraction(2, 3), Fraction(1, 3)))
    assert Window((october, november), "periods", (Fraction(1, 2), Fraction(1, 2))) == Window(
        (november, october), "periods"
    )
    assert Window((october,), "periods") == Window((october,), "records", None)


@pytest.mark.parametrize(
    ("labels", "pool", "weights"),
    [
        ("", "records", None),
        ("2026-10 2026-W41", "records", None),
        ("2026-10 2026-10", "records", None),
        ("2026-10", "all", None),
        ("2026-10 2026-11", "records", (Fraction(1, 2), Fraction(1, 2))),
        ("2026-10 2026-11", "periods", (Fraction(1, 2),)),
        ("2026-10 2026-11", "periods", (Fraction(1, 2), Fraction(1, 3))),
        ("2026-10 2026-11", "periods", (Fraction(3, 2), Fraction(-1, 2))),
        ("2026-10 2026-11", "periods", (0.5, 0.5)),
    ],
)
def test_bad_windows(labels: str, pool: str, weights: tuple[Fraction, ...] | None) -> None:
    with pytest.raises(ParameterError):
        Window(tuple(Period.parse(label) for label in labels.split()), pool, weights)  # type: ignore[arg-type]


def test_a_period_begins_on_its_first_day() -> None:
    with pytest.raises(ParameterError, match="does not begin"):
        Period(date(2026, 10, 2), "month")
