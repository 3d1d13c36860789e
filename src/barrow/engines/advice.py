"""What lost records look like, and how to correct them: for the curator's eyes, in the report of ``check``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from barrow.engines.base import Columns, flat_groups
from barrow.engines.numbers import parsed_moment, to_number
from barrow.spaces import Space
from barrow.spaces.grids import numbered

_MOST = 0.5
"""A pattern is named if at least this share of the lost records that were looked at have it."""


def advise(lost: Sequence[tuple[object, ...]], columns: Columns, space: Space) -> tuple[str, ...]:
    """Sentences about some records, by their item columns, whose item is lost."""
    if not lost:
        return ()
    told, start = [], 0
    for part, group, reads in flat_groups(columns, space):
        values = [row[start : start + len(group)] for row in lost]
        start += len(group)
        if part.geometry.on_earth and reads.numbers:
            told += _places(values, group, part)
        if reads.numbers:
            told += _commas(values, group)
        else:
            told += _labels([row[0] for row in values], group[0], part)
    return tuple(told)


def _share(flags: Sequence[bool]) -> bool:
    return len(flags) > 0 and sum(flags) >= _MOST * len(flags)


def _commas(values: Sequence[tuple[object, ...]], group: tuple[str, ...]) -> list[str]:
    decimal = re.compile(r"\s*[+-]?[0-9]*,[0-9]+\s*")
    if _share([any(isinstance(x, str) and decimal.fullmatch(x) is not None for x in row) for row in values]):
        words = f"Decimal commas in {', '.join(group)}: write points (1,5 as 1.5)"
        return [words + _by_query([f"replace({name}, ',', '.') AS {name}" for name in group])]
    return []


def _places(values: Sequence[tuple[object, ...]], group: tuple[str, ...], space: Space) -> list[str]:
    def inside(places: Any) -> Any:
        return space._encode(places, "error") >= 0

    places = np.array([[to_number(x) for x in row] for row in values])
    if _share(inside(places[:, ::-1]) & ~inside(places)):
        return [f"Latitude and longitude are swapped: name the item columns {group[1]}, {group[0]}."]
    for power, name in ((1e6, "micro-degrees"), (1e7, "degrees times 10^7"), (1e5, "degrees times 10^5")):
        if _share(inside(places / power) & (np.abs(places).sum(axis=1) > 1e4)):
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
    some = ", ".join(list(space.labels)[:2])
    if numbered(space) and _share([str(x).strip().isdecimal() for x in values]):
        return [f"{name} holds numbers, but the items of the space are {some}, …: list the numbers instead, in "
                f"their order, {numbered(space)}."]  # fmt: skip
    if _share([parsed_moment(str(x)) is not None for x in values]):
        return [f"{name} holds moments, which hours, weekdays and lines of time read: give this space a column of "
                f"{some}, …"]  # fmt: skip
    return []
