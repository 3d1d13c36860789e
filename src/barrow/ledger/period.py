"""Calendar periods in UTC, for budgets of data that are collected anew."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from barrow.errors import ParameterError

PERIODS = ("day", "week", "month", "year")
"""What ``per`` may be."""

_STAMP = "%Y-%m-%dT%H:%M:%SZ"


def to_per(value: str) -> str:
    """``value`` if it names a period."""
    if value not in PERIODS:
        raise ParameterError(f"per is {value!r}.", allowed=", ".join(map(repr, PERIODS)), fix="per='month'")
    return value


def stamp(moment: datetime) -> str:
    """``moment`` in UTC to the second; later moments are larger texts."""
    return moment.astimezone(UTC).strftime(_STAMP)


def moment_of(when: str) -> datetime:
    """The moment that :func:`stamp` wrote."""
    return datetime.strptime(when, _STAMP).replace(tzinfo=UTC)


def period_of(when: str, per: str) -> str:
    """The label of the period that holds ``when``; later periods have larger labels."""
    day = moment_of(when)
    if to_per(per) == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04d}-W{week:02d}"
    return day.strftime({"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}[per])


def next_period(when: str, per: str) -> str:
    """When the period after the one of ``when`` begins."""
    start = moment_of(when).replace(hour=0, minute=0, second=0)
    if to_per(per) == "day":
        start += timedelta(days=1)
    elif per == "week":
        start += timedelta(days=7 - start.weekday())
    elif per == "month":
        start = (start.replace(day=1) + timedelta(days=32)).replace(day=1)
    else:
        start = start.replace(year=start.year + 1, month=1, day=1)
    return stamp(start)
