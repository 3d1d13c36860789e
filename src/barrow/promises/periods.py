"""Periods of a public calendar (days, weeks, months, quarters, years in one time zone), and windows of them.

A record belongs to the period in which its time stands in the zone of the study: a function of the record alone. Which
periods a release reads is public, so a label that is not certain is refused (docs/proofs/scopes.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Literal, NamedTuple, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from barrow.errors import ParameterError, nearest_name, one_of

Unit = Literal["day", "week", "month", "quarter", "year"]
Pool = Literal["records", "periods"]
UNITS: tuple[Unit, ...] = get_args(Unit)
_POOLS: tuple[Pool, ...] = get_args(Pool)


class _Rule(NamedTuple):
    """How periods of one unit are written, by which numbers, and where they begin; ``days`` lead into the next one."""

    form: re.Pattern[str]
    example: str
    label: str
    numbers: Callable[[date], tuple[int, ...]]
    first: Callable[..., date]
    days: int


_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_WEEK, _QUARTER = re.compile(r"([0-9]{4})-W([0-9]{2})"), re.compile(r"([0-9]{4})-Q([1-4])")
_MONTH, _YEAR = re.compile(r"([0-9]{4})-([0-9]{2})"), re.compile(r"([0-9]{4})")
_RULES: dict[Unit, _Rule] = {
    "day": _Rule(_DAY, "2026-10-07", "{:04}-{:02}-{:02}", lambda d: (d.year, d.month, d.day), date, 1),
    "week": _Rule(
        _WEEK, "2026-W41", "{:04}-W{:02}", lambda d: d.isocalendar()[:2], lambda y, w: date.fromisocalendar(y, w, 1), 7
    ),
    "month": _Rule(_MONTH, "2026-10", "{:04}-{:02}", lambda d: (d.year, d.month), lambda y, m: date(y, m, 1), 31),
    "quarter": _Rule(
        _QUARTER, "2026-Q4", "{:04}-Q{}", lambda d: (d.year, (d.month + 2) // 3), lambda y, q: date(y, 3 * q - 2, 1), 92
    ),
    "year": _Rule(_YEAR, "2026", "{:04}", lambda d: (d.year,), lambda y: date(y, 1, 1), 366),
}
_YEARS = (1000, 9000)
_MOST = 1000
"""More periods at once than anybody means."""


def _start(unit: Unit, day: date) -> date:
    """The first day of the period that holds ``day``."""
    return _RULES[unit].first(*_RULES[unit].numbers(day))


def check_unit(unit: str) -> Unit:
    """A unit of the calendar.

    >>> check_unit("month")
    'month'
    """
    for known in UNITS:
        if unit == known:
            return known
    near = nearest_name(unit, (*UNITS, *(f"{name}s" for name in UNITS)))
    raise ParameterError(
        f"A period is {unit!r}.", allowed=", ".join(UNITS), fix=repr((near or "month").removesuffix("s"))
    )


@dataclass(frozen=True, order=True)
class Period:
    """One day, week (Monday to Sunday, ISO 8601), month, quarter or year.

    Args:
        first: Its first day.
        unit: ``"day"``, ``"week"``, ``"month"``, ``"quarter"`` or ``"year"``.

    >>> october = Period.parse("2026-10")
    >>> october.first.isoformat(), october.last.isoformat(), october.unit, october.next().label
    ('2026-10-01', '2026-10-31', 'month', '2026-11')
    >>> Period.parse("2026-W53").last.isoformat(), Period.parse("2026-Q4").next().label
    ('2027-01-03', '2027-Q1')
    """

    first: date
    unit: Unit

    def __post_init__(self) -> None:
        check_unit(self.unit)
        if type(self.first) is not date or not _YEARS[0] <= self.first.year <= _YEARS[1]:
            raise ParameterError(
                f"A period begins on {self.first!r}.",
                allowed=f"a date between the years {_YEARS[0]} and {_YEARS[1]}",
                fix='Period.parse("2026-10")',
            )
        if _start(self.unit, self.first) != self.first:
            raise ParameterError(
                f"A {self.unit} does not begin on {self.first.isoformat()}.",
                allowed=f"the first day of a {self.unit}",
                fix=_start(self.unit, self.first).isoformat(),
            )

    @classmethod
    def parse(cls, text: str) -> Period:
        """The period that has this label; its form says the unit.

        >>> Period.parse("2026-W41").first.isoformat()
        '2026-10-05'
        """
        label = text.strip()
        for unit, rule in _RULES.items():
            if match := rule.form.fullmatch(label):
                try:
                    return cls(rule.first(*map(int, match.groups())), unit)
                except ValueError:
                    raise ParameterError(
                        f"There is no {unit} {label!r}.", allowed=f"a {unit} of the calendar", fix=rule.example
                    ) from None
        raise ParameterError(
            f"The period {text!r} cannot be read.",
            allowed=", ".join(f"a {unit} as {rule.example}" for unit, rule in _RULES.items()),
            fix="2026-10",
        )

    @property
    def last(self) -> date:
        """Its last day, inclusive."""
        return self.next().first - timedelta(days=1)

    @property
    def label(self) -> str:
        """The period as :meth:`parse` reads it.

        >>> Period(date(2024, 12, 30), "week").label
        '2025-W01'
        """
        return _RULES[self.unit].label.format(*_RULES[self.unit].numbers(self.first))

    def __str__(self) -> str:
        return self.label

    def next(self) -> Period:
        """The period after this one."""
        return Period(_start(self.unit, self.first + timedelta(days=_RULES[self.unit].days)), self.unit)

    def previous(self) -> Period:
        """The period before this one.

        >>> Period.parse("2026-01").previous().label
        '2025-12'
        """
        return Period(_start(self.unit, self.first - timedelta(days=1)), self.unit)


@dataclass(frozen=True)
class Calendar:
    """How time is divided: the unit of a period and the public time zone in which days begin.

    Args:
        unit: ``"day"``, ``"week"``, ``"month"``, ``"quarter"`` or ``"year"``.
        zone: A name of the IANA time zone database.

    >>> calendar = Calendar("month", "Europe/Berlin")
    >>> [period.label for period in calendar.parse_range("2026-11..2027-01")]
    ['2026-11', '2026-12', '2027-01']
    >>> calendar.parse("2026-W41")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: '2026-W41' is a week, and the periods of this study are months.
      allowed: a month as 2026-10
      fix:     2026-10
    """

    unit: Unit
    zone: str

    def __post_init__(self) -> None:
        check_unit(self.unit)
        try:
            if not isinstance(self.zone, str) or self.zone.lower() in ("localtime", "posixrules"):
                raise ValueError(self.zone)
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            near = nearest_name(self.zone, available_timezones())
            raise ParameterError(
                f"The time zone is {self.zone!r}.",
                allowed='a name of the IANA database, e.g. "Europe/Berlin", "America/New_York" or "UTC"',
                fix=f'zone = "{near or "UTC"}"',
            ) from None

    @property
    def plural(self) -> str:
        """Several periods in words.

        >>> Calendar("quarter", "UTC").plural
        'quarters'
        """
        return f"{self.unit}s"

    def parse(self, text: str) -> Period:
        """The period of this calendar that has this label.

        >>> Calendar("week", "UTC").parse("2026-W01").first.isoformat()
        '2025-12-29'
        """
        own = _RULES[self.unit]
        if not own.form.fullmatch(text.strip()):
            allowed = f"a {self.unit} as {own.example}"
            for unit, rule in _RULES.items():
                if rule.form.fullmatch(text.strip()):
                    raise ParameterError(
                        f"{text.strip()!r} is a {unit}, and the periods of this study are {self.plural}.",
                        allowed=allowed,
                        fix=own.example,
                    )
            raise ParameterError(f"The {self.unit} {text!r} cannot be read.", allowed=allowed, fix=own.example)
        return Period.parse(text)

    def parse_range(self, text: str) -> tuple[Period, ...]:
        """The periods of a list by commas, of a range by two dots, or of both, in the order of time.

        >>> [period.label for period in Calendar("quarter", "UTC").parse_range("2025-Q4..2026-Q1, 2026-Q3")]
        ['2025-Q4', '2026-Q1', '2026-Q3']
        """
        periods: list[Period] = []
        for part in text.split(","):
            first, dots, last = part.partition("..")
            period, end = self.parse(first), self.parse(last if dots else first)
            if end < period:
                raise ParameterError(
                    f"The range {part.strip()!r} ends before it begins.",
                    allowed="the earlier period first",
                    fix=f"{end.label}..{period.label}",
                )
            while period <= end:
                if len(periods) == _MOST:
                    raise ParameterError(
                        f"{text.strip()!r} has more than {_MOST} {self.plural}.",
                        allowed=f"at most {_MOST} at once",
                        fix="a shorter range",
                    )
                periods.append(period)
                period = period.next()
        ordered = sorted(periods)
        if twice := next((a.label for a, b in pairwise(ordered) if a == b), None):
            raise ParameterError(
                f"{text.strip()!r} has {twice} twice.", allowed="each period once", fix=f"remove one {twice}"
            )
        return tuple(ordered)

    def period_of(self, day: date) -> Period:
        """The period that holds a day of the zone's calendar.

        >>> Calendar("week", "UTC").period_of(date(2027, 1, 1)).label
        '2026-W53'
        """
        return Period(_start(self.unit, date(day.year, day.month, day.day)), self.unit)

    def last_ended(self, now: datetime) -> Period:
        """The last period that is over at ``now``, by the clock of the zone and never by the records.

        >>> from datetime import timezone
        >>> now = datetime(2026, 10, 31, 23, 30, tzinfo=timezone.utc)  # half past midnight in Berlin
        >>> Calendar("month", "Europe/Berlin").last_ended(now).label, Calendar("month", "UTC").last_ended(now).label
        ('2026-10', '2026-09')
        """
        if now.tzinfo is None or now.utcoffset() is None:
            raise ParameterError(
                f"The time {now.isoformat()} has no time zone.",
                allowed="a time with its zone",
                fix="datetime.now(timezone.utc)",
            )
        return self.period_of(now.astimezone(ZoneInfo(self.zone)).date()).previous()


@dataclass(frozen=True)
class Window:
    """The periods that one release reads, and what counts alike in them.

    Args:
        periods: The periods, each once; they are kept in the order of time.
        pool: ``"records"``: each person's records of all these periods count alike. ``"periods"``: each period of a
            person counts by its weight, however many records it has. One period is the same under both.
        weights: The weight of each period, in the order of time, above 0 and 1 together; equal ones without.

    >>> window = Window((Period.parse("2026-11"), Period.parse("2026-10")), "periods")
    >>> window.labels, window.weight(Period.parse("2026-10")), window.weight(Period.parse("2026-12"))
    (('2026-10', '2026-11'), Fraction(1, 2), Fraction(0, 1))
    """

    periods: tuple[Period, ...]
    pool: Pool = "records"
    weights: tuple[Fraction, ...] | None = None

    def __post_init__(self) -> None:
        one_of(self.pool, "pool", list(_POOLS))
        if not self.periods or len({period.unit for period in self.periods}) != 1:
            raise ParameterError(
                f"A window has {len(self.periods)} periods of {len({p.unit for p in self.periods})} units.",
                allowed="at least one period, all of one unit",
                fix='Calendar("month", "UTC").parse_range("2026-01..2026-03")',
            )
        if len(set(self.periods)) != len(self.periods):
            raise ParameterError("A window has a period twice.", allowed="each period once", fix="set(periods)")
        self._check_weights()
        ordered = sorted(range(len(self.periods)), key=lambda i: self.periods[i])
        equal = self.weights is None or len(set(self.weights)) == 1
        weights = None if equal or self.weights is None else tuple(self.weights[i] for i in ordered)
        pool = "records" if len(self.periods) == 1 else self.pool
        vars(self).update(periods=tuple(self.periods[i] for i in ordered), weights=weights, pool=pool)

    @classmethod
    def parse(cls, text: str, pool: Pool = "records", weights: tuple[Fraction, ...] | None = None) -> Window:
        """The window whose :attr:`text` this is.

        >>> Window.parse("2026-01..2026-03").labels
        ('2026-01', '2026-02', '2026-03')
        """
        unit = Period.parse(text.partition(",")[0].partition("..")[0]).unit
        return cls(Calendar(unit, "UTC").parse_range(text), pool, weights)

    def _check_weights(self) -> None:
        if self.weights is None:
            return
        if self.pool != "periods":
            raise ParameterError(
                "A window by records has weights.", allowed="weights for pool='periods' only", fix="pool='periods'"
            )
        positive = all(isinstance(weight, Fraction) and weight > 0 for weight in self.weights)
        if len(self.weights) != len(self.periods) or not positive or sum(self.weights) != 1:
            raise ParameterError(
                f"The weights of {len(self.periods)} periods are {', '.join(map(str, self.weights)) or 'none'}.",
                allowed="one exact fraction above 0 for each period, 1 together",
                fix="weights=None for equal ones",
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its periods."""
        return tuple(period.label for period in self.periods)

    @property
    def text(self) -> str:
        """The window in one piece: runs of periods as ranges.

        >>> Window(Calendar("month", "UTC").parse_range("2026-01..2026-03,2026-06")).text
        '2026-01..2026-03,2026-06'
        """
        runs: list[list[Period]] = []
        for period in self.periods:
            if runs and runs[-1][-1].next() == period:
                runs[-1].append(period)
            else:
                runs.append([period])
        return ",".join(run[0].label if len(run) == 1 else f"{run[0].label}..{run[-1].label}" for run in runs)

    def weight(self, period: Period) -> Fraction:
        """The public weight of a period in a window by periods; 0 for one that is not read."""
        if period not in self.periods:
            return Fraction(0)
        if self.weights is None:
            return Fraction(1, len(self.periods))
        return self.weights[self.periods.index(period)]
