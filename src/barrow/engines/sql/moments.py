"""Moments written as texts (``2026-10-31``, ``2026-10-31 23:59:59.5``, with T and Z too): the same ones everywhere.

Engines differ in what their casts read and in what they do with 30 February, so the calendar is computed here, with
whole numbers, for texts of one form only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barrow.engines.times import DAY, MOMENT, PADDING

if TYPE_CHECKING:
    from barrow.engines.sql.dialects import Dialect


def text_micros(dialect: Dialect, text: str) -> str:
    """Microseconds since 1970-01-01 of a text; NULL where it is no moment.

    >>> from barrow.engines.sql.dialects import DUCKDB
    >>> text_micros(DUCKDB, "t").startswith("CASE WHEN")
    True
    """
    d = dialect
    plain = f"replace({text}, 'Z', '')"
    padded = f"concat({plain}, substr({d.literal(PADDING)}, length({plain}) + 1))"

    def field(start: int, length: int) -> str:
        return d.as_whole(f"substr({padded}, {start}, {length})")

    def over(number: str, by: int) -> str:
        return d.as_whole(f"floor(CAST({number} AS {d.double}) / {d.number_literal(by)})")

    year, month, day = field(1, 4), field(6, 2), field(9, 2)
    hour, minute, second, micro = field(12, 2), field(15, 2), field(18, 2), field(21, 6)
    leap = f"(({year} % 4 = 0 AND {year} % 100 <> 0) OR {year} % 400 = 0)"
    last = f"CASE WHEN {month} = 2 THEN 28 + {d.flag(leap)} WHEN {month} IN (4, 6, 9, 11) THEN 30 ELSE 31 END"
    good = (
        f"{year} >= 1 AND {month} >= 1 AND {month} <= 12 AND {day} >= 1 AND {day} <= {last} "
        f"AND {hour} <= 23 AND {minute} <= 59 AND {second} <= 59"
    )
    # Years that begin in March: the leap day is their last one.
    march = f"({year} - {d.flag(f'{month} <= 2')})"
    since = f"({month} + CASE WHEN {month} > 2 THEN -3 ELSE 9 END)"
    days = (
        f"({march} * 365 + {over(march, 4)} - {over(march, 100)} + {over(march, 400)} "
        f"+ {over(f'(153 * {since} + 2)', 5)} + {day} - 719469)"
    )
    clock = f"((({hour} * 60 + {minute}) * 60 + {second}) * 1000000 + {micro})"
    return f"CASE WHEN {d.matches(text, MOMENT)} THEN CASE WHEN {good} THEN {days} * {DAY} + {clock} END END"
