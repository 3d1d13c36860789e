"""What lost records look like, and how to mend them: for the curator's eyes, in the report of ``check``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from barrow.engines.columns import Columns, flat_groups, reads_numbers
from barrow.engines.numbers import to_number
from barrow.engines.times import parsed_moment
from barrow.spaces import Circle, Earth, Space

_MOST = 0.5
"""A pattern is named if at least this share of the lost records that were looked at have it."""


def advise(lost: Sequence[tuple[object, ...]], columns: Columns, space: Space) -> tuple[str, ...]:
    """Sentences about some records, by their item columns, whose item is lost.

    >>> advise([(-74.0, 40.7)], Columns("uid", ["lat", "lon"]), Earth(box=(40, -75, 41, -73), cell=1))
    ('Latitude and longitude are swapped: name the item columns lon, lat.',)
    """
    if not lost:
        return ()
    told, start = [], 0
    for part, group in flat_groups(columns, space):
        values = [row[start : start + len(group)] for row in lost]
        start += len(group)
        if isinstance(part, Earth):
            told += _places(values, group, part)
        if reads_numbers(part):
            told += _commas(values, group)
        elif len(group) == 1:
            told += _labels([row[0] for row in values], group[0], part)
    return tuple(told)


def _share(flags: Sequence[bool]) -> bool:
    return bool(flags) and sum(flags) >= _MOST * len(flags)


def _commas(values: Sequence[tuple[object, ...]], group: tuple[str, ...]) -> list[str]:
    decimal = re.compile(r"\s*[+-]?[0-9]*,[0-9]+\s*")
    if _share([any(isinstance(x, str) and decimal.fullmatch(x) is not None for x in row) for row in values]):
        words = f"Decimal commas in {', '.join(group)}: write points (1,5 as 1.5)"
        return [words + _by_query([f"replace({name}, ',', '.') AS {name}" for name in group])]
    return []


def _places(values: Sequence[tuple[object, ...]], group: tuple[str, ...], space: Earth) -> list[str]:
    south, west, north, east = space.box

    def inside(lat: float, lon: float) -> bool:
        return south <= lat <= north and west <= lon <= east

    places = [(to_number(row[0]), to_number(row[1])) for row in values]
    if _share([inside(lon, lat) and not inside(lat, lon) for lat, lon in places]):
        return [f"Latitude and longitude are swapped: name the item columns {group[1]}, {group[0]}."]
    for power, name in ((1e6, "micro-degrees"), (1e7, "degrees times 10^7"), (1e5, "degrees times 10^5")):
        if _share([inside(lat / power, lon / power) and abs(lat) + abs(lon) > 1e4 for lat, lon in places]):
            words = f"The places are in {name}: divide {group[0]} and {group[1]} by {int(power):,}"
            return [words + _by_query([f"CAST({x} AS DOUBLE) / {power:.0f} AS {x}" for x in group])]
    return []


def _by_query(pieces: Sequence[str]) -> str:
    """How files are mended while they are read."""
    return f'; in files by --acknowledge-sql --sql "SELECT * REPLACE ({", ".join(pieces)}) FROM records".'  # noqa: S608 (a text for a person)


def _labels(values: Sequence[object], name: str, space: Space) -> list[str]:
    known = {str(x).strip().casefold() for x in list(space.labels)[:100_000]}
    if _share([isinstance(x, str) and x.strip().casefold() in known for x in values]):
        return [f"Labels in {name} differ from the public ones in spaces at their ends or in letter case only."]
    if isinstance(space, Circle) and _share([str(x).strip().isdecimal() for x in values]):
        names = ", ".join(list(space.labels)[:2])
        return [f"{name} holds numbers, and the space the names {names}, …: list the numbers instead, in their order, "
                f"circle(period={space.period:g}, unit='{space.unit}', names=['1', '2', …])."]  # fmt: skip
    if isinstance(space, Circle) and _share([parsed_moment(str(x)) is not None for x in values]):
        return [f"{name} holds moments, which hours, weekdays and lines of time read: give this space a column of "
                f"{', '.join(list(space.labels)[:2])}, …"]  # fmt: skip
    return []
