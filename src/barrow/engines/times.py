"""Columns of time as whole numbers of microseconds; what these mean on a space is said by :class:`Moments`.

Moments without a zone are read as they are written, those with a zone in UTC.
"""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from barrow.spaces.records import DAY, MISSING

MOMENT = "^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?Z?)?$"
"""A moment as text, without a zone or in UTC; written for every engine's regular expressions."""
PADDING = "0000-00-00 00:00:00.000000"
_MOMENT = re.compile(MOMENT)


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
