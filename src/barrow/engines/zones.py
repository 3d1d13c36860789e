"""Local times of instants: a public table of how far a zone's clocks are ahead of UTC, the same for every engine."""

from __future__ import annotations

from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from barrow.engines.numbers import days_of
from barrow.spaces.records import MISSING

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
        local = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)).astimezone(clocks)
        return (local.utcoffset() or timedelta(0)) // timedelta(microseconds=1)

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
