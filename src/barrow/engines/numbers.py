"""Values of records as numbers: texts as doubles, and moments as whole microseconds; the same for every engine.

What moments mean on a space is said by :class:`Moments`. Those without a zone are read as they are written, those with
a zone in UTC.

Local times of instants: a public table of how far a zone's clocks are ahead of UTC, the same for every engine.
"""

from __future__ import annotations

import datetime
import math
import re
from bisect import bisect_left
from decimal import Decimal
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from barrow.spaces.records import DAY, MISSING

BLANKS = " \t\n\r\f\v"
_DIGITS = "[0-9](_?[0-9])*"
_PADDED = rf"^[{BLANKS}]*{{}}[{BLANKS}]*$"
NUMBER = _PADDED.format(rf"[+-]?({_DIGITS}[.]?|({_DIGITS})?[.]{_DIGITS})([eE][+-]?{_DIGITS})?")
"""A number in the grammar of Python's ``float``, ASCII only; written for every engine's regular expressions."""
INFINITE = _PADDED.format("[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?")
LONG_EXPONENT = "[eE][+-]?[0-9_]{5,}"
"""Exponents of five or more characters are no numbers: nobody writes them, and engines differ about them."""
MOST_CHARACTERS = 400

_NUMBER, _INFINITE, _LONG = (re.compile(x) for x in (NUMBER, INFINITE, LONG_EXPONENT))

MOMENT = "^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?Z?)?$"
"""A moment as text, without a zone or in UTC; written for every engine's regular expressions."""
PADDING = "0000-00-00 00:00:00.000000"
_MOMENT = re.compile(MOMENT)


def to_number(value: object) -> float:
    """A private value as a double; NaN if it is none. Never an error, which would repeat the value.

    Texts are read as Python reads floats, in ASCII only, of at most 400 characters and with exponents of at most four.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        plain = len(value) <= MOST_CHARACTERS and not _LONG.search(value)
        if not plain or not (_NUMBER.fullmatch(value) or _INFINITE.fullmatch(value)):
            return math.nan
    elif isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all doubles is outside every space, like the text "1e400"
        return math.inf if isinstance(value, int) and value > 0 else -math.inf
    except (ValueError, ArithmeticError):
        return math.nan


def to_micros(column: NDArray[Any]) -> NDArray[np.int64]:
    """Moments as microseconds; what is none becomes the least whole number of 64 bits."""
    if column.dtype.kind == "M":
        return column.astype("datetime64[us]").astype(np.int64)
    return np.fromiter((_micros(x) for x in column.tolist()), dtype=np.int64, count=len(column))


def days_of(column: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Moments that fall on a day, in microseconds, and which of them have a zone; times of day fall on none.

    Texts are local times, and fall on no day where they say that they are in UTC.

    >>> (days_of(np.array([datetime.date(1970, 1, 2), "1970-01-02 12:00"], dtype=object))[0] / DAY).tolist()
    [1.0, 1.5]
    """
    if column.dtype.kind == "M":
        return to_micros(column), np.zeros(len(column), dtype=bool)
    values = [x if _on_a_day(x) else None for x in column.tolist()]
    zones = [isinstance(x, datetime.datetime) and x.tzinfo is not None for x in values]
    micros = np.fromiter((_micros(x) for x in values), dtype=np.int64, count=len(values))
    return micros, np.array(zones, dtype=bool)


def _on_a_day(value: object) -> bool:
    return isinstance(value, datetime.date | np.datetime64) or (isinstance(value, str) and not value.endswith("Z"))


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
        return MISSING
    if isinstance(value, str):
        moment = parsed_moment(value)
        return MISSING if moment is None else int((moment - datetime.datetime(1970, 1, 1)) // step)
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
        return MISSING if ahead is None else (clock - ahead // step) % DAY
    return MISSING


_FIRST, _LAST = -25567, 47482
"""Days since 1970: from 1900 to 2099. Before and after them clocks are taken to stay as they are at these ends."""
_SECOND = 10**6


@lru_cache(maxsize=16)
def offsets(zone: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Moments in microseconds UTC at which clocks are set, and how far ahead they are before, between and after them.

    >>> bounds, ahead = offsets("Europe/Berlin")
    >>> at = bisect_left(bounds, 20544 * 86400 * 10**6)  # 2026-04-01
    >>> ahead[at] // 3_600_000_000, offsets("UTC")
    (2, ((), (0,)))
    """
    clocks = ZoneInfo(zone)

    def ahead(second: int) -> int:
        moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=second)
        local = moment.astimezone(clocks)
        return (local.utcoffset() or datetime.timedelta(0)) // datetime.timedelta(microseconds=1)

    bounds: list[int] = []
    known = [ahead(_FIRST * 86400)]
    for day in range(_FIRST, _LAST):
        after = ahead((day + 1) * 86400)
        if after != known[-1]:
            seconds = range(day * 86400, (day + 1) * 86400 + 1)
            bounds.append(seconds[bisect_left(seconds, True, key=lambda s: ahead(s) == after)] * _SECOND)
            known.append(after)
    return tuple(bounds), tuple(known)


def local_micros(column: NDArray[np.generic], zone: str) -> NDArray[np.int64]:
    """Moments that fall on a day, in microseconds as clocks in ``zone`` show them; the least number where none does."""
    micros, zoned = days_of(column)
    bounds, ahead = offsets(zone)
    at = np.searchsorted(np.array(bounds, dtype=np.int64), micros, side="right")
    return np.where(zoned & (micros != MISSING), micros + np.array(ahead, dtype=np.int64)[at], micros)
