"""Columns of time as items: the hour of the day and the day of the week on circles, the date on lines.

A moment is its whole number of microseconds since 1970-01-01 00:00 UTC (a clock time, those since midnight), exact on
every engine; from there to the item one integer remainder and one division of doubles lead, the same ones everywhere.
Moments without a zone are read as they are written, those with a zone in UTC.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.spaces import Circle, Line, Space
from barrow.spaces.elsewhere import within

DAY = 86_400_000_000
_MISSING = np.iinfo(np.int64).min
_UNITS = {
    "s": 10**6, "second": 10**6, "seconds": 10**6, "min": 60 * 10**6, "minute": 60 * 10**6, "minutes": 60 * 10**6,
    "h": 3600 * 10**6, "hour": 3600 * 10**6, "hours": 3600 * 10**6, "d": DAY, "day": DAY, "days": DAY,
    "week": 7 * DAY, "weeks": 7 * DAY,
}  # fmt: skip
MONDAY = 3 * DAY
"""1970-01-01 was a Thursday."""


MOMENT = "^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?Z?)?$"
"""A moment as text, without a zone or in UTC; written for every engine's regular expressions."""
PADDING = "0000-00-00 00:00:00.000000"
_MOMENT = re.compile(MOMENT)


@dataclass(frozen=True)
class TimeUse:
    """How a moment becomes what a space reads: ((moment + offset) modulo turn) / unit, and then perhaps a name.

    >>> time_use(Circle.hours())
    TimeUse(turn=86400000000, offset=0, unit=3600000000, names=())
    """

    turn: int | None
    offset: int
    unit: int
    names: tuple[str, ...] = ()

    def numbers(self, micros: NDArray[np.int64]) -> NDArray[np.float64]:
        """What the space reads, NaN where there is no moment."""
        missing = micros == _MISSING
        moved = np.where(missing, 0, micros) + self.offset
        turned = moved if self.turn is None else np.mod(moved, self.turn)
        return np.where(missing, np.nan, turned.astype(np.float64) / float(self.unit))

    def labels(self, micros: NDArray[np.int64]) -> NDArray[Any]:
        """The name of each moment's day, None where there is no moment."""
        found = np.empty(len(micros), dtype=object)
        found[:] = [None if x != x else self.names[int(x)] for x in self.numbers(micros).tolist()]
        return found


def time_use(space: Space) -> TimeUse | None:
    """How a space reads moments; None if it does not.

    Circles of 24 hours read the time of day, circles of 7 days or with the names of the weekdays (Monday first) the day
    of the week, and lines in seconds, minutes, hours, days or weeks the time since 1970-01-01.
    """
    space = within(space)
    if isinstance(space, Circle) and space.names is None:
        unit = _UNITS.get(space.unit)
        for turn, offset in ((DAY, 0), (7 * DAY, MONDAY)):
            if unit is not None and space.period == turn / unit:
                return TimeUse(turn, offset, unit)
        return None
    if isinstance(space, Circle):
        names = tuple(space.labels)
        is_week = len(names) == 7 and names[0].casefold().startswith("mo") and names[6].casefold().startswith("su")
        return TimeUse(7 * DAY, MONDAY, DAY, names) if is_week else None
    if isinstance(space, Line) and space.unit in _UNITS:
        return TimeUse(None, 0, _UNITS[space.unit])
    return None


def to_micros(column: NDArray[Any]) -> NDArray[np.int64]:
    """Moments as microseconds; what is none becomes the least whole number of 64 bits."""
    if column.dtype.kind == "M":
        return column.astype("datetime64[us]").astype(np.int64)
    return np.fromiter((_micros(x) for x in column.tolist()), dtype=np.int64, count=len(column))


def parsed_moment(text: str) -> datetime.datetime | None:
    """The moment that a text is; None if it is none."""
    if not _MOMENT.fullmatch(text):
        return None
    plain = text.replace("Z", "")
    plain += PADDING[len(plain) :]
    fields = [int(plain[a:b]) for a, b in ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19), (20, 26))]
    try:
        return datetime.datetime(*fields)  # type: ignore[arg-type]
    except ValueError:
        return None


def _micros(value: object) -> int:
    if isinstance(value, np.datetime64):
        return int(value.astype("datetime64[us]").astype(np.int64))
    step = datetime.timedelta(microseconds=1)
    if value is None or value != value:
        return int(_MISSING)
    if isinstance(value, str):
        moment = parsed_moment(value)
        return int(_MISSING) if moment is None else int((moment - datetime.datetime(1970, 1, 1)) // step)
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        return int((value - datetime.datetime(1970, 1, 1)) // step)
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days * DAY
    if isinstance(value, datetime.time):
        clock = ((value.hour * 60 + value.minute) * 60 + value.second) * 10**6 + value.microsecond
        if value.tzinfo is None:
            return clock
        ahead = value.utcoffset()  # none where a zone's clocks are set forward in summer
        return int(_MISSING) if ahead is None else (clock - ahead // step) % DAY
    return int(_MISSING)
