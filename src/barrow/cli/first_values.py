"""The first values of a release on a terminal: what stands out from the noise, each with its interval."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from barrow.numerics.exact import PERCENT, at_least, at_most, near, with_interval

if TYPE_CHECKING:
    from barrow.study import Release

_SHOWN = 5
_GROUPS = 12


def first_sentences(text: str, number: int) -> str:
    """The first sentences of a paragraph.

    >>> first_sentences("We released it, i.e. 3.5 km. It is near. It is far.", 2)
    'We released it, i.e. 3.5 km. It is near.'
    """
    return " ".join(re.split(r"(?<=\.)\s+(?=[A-Z])", text)[:number])


def first_values(result: Release, shown: int = _SHOWN, groups: int = _GROUPS) -> list[str]:
    """A few lines: of a histogram quantiles, regions that stand out, or the largest items with their limits."""
    tables = result.tables
    rows = tables["values"]
    shares = {"share", "high_95", "item"} <= set(rows[0])
    if shares and "group" in rows[0] and tables.get("regions"):
        return _of_groups(result, groups)
    if not shares or "group" in rows[0]:
        first, *rest = result.summary or [""]
        more = [f"… all {len(rows):,} values are in values.csv"] if len(rest) > shown else []
        return [line for line in [first, *rest[:shown], *more] if line]
    # A command that releases nothing like this does not load what these lines are made with.
    from barrow.questions.answer import number
    from barrow.questions.value_tables import quantile_words
    from barrow.render.report.merged import region_names

    lines = quantile_words(tables.get("quantiles", []))
    lines += [f"no records: {_share(row)}" for row in tables.get("no_records", [])]
    # What is outside has no place, and is the last.
    apart = list(takewhile(lambda row: row.get("x", row.get("lat", "")) is None, reversed(rows)))
    lines += [f"{row['item']}: {_share(row)}" for row in reversed(apart)]
    found = tables.get("regions", [])
    if not found:
        top = sorted(rows, key=lambda row: -number(row, "share"))[:shown]
        unit = _unit(result)
        lines += [
            f"{row['item']}{unit}: {near(number(row, 'share'), PERCENT, digits=2)}, at most "
            f"{at_most(number(row, 'high_95'), PERCENT, digits=2)} (95 %)"
            for row in top
        ]
        return [*lines, f"None of {len(rows):,} values stands out from the noise by itself; all are in values.csv"]
    names = region_names(found[:shown], result.space, ("x" in rows[0] and _unit(result)) or "")
    lines += [f"{name}: {_share(row)}" for name, row in zip(names, found[:shown], strict=True)]
    many = f"{len(found)} regions stand" if len(found) > 1 else "1 region stands"
    own = f"all {len(rows):,} values are in values.csv"
    return [*lines, f"{many} out from the noise (regions.csv); their intervals hold at once; {own}"]


def _of_groups(result: Release, shown: int) -> list[str]:
    """The largest region of each group of a histogram that stands out from the noise."""
    from barrow.render.report.merged import region_names

    largest: dict[object, dict[str, Any]] = {}
    for row in result.tables["regions"]:
        largest.setdefault(row["group"], row)
    found = list(largest.values())[:shown]
    names = region_names(found, result.space, _unit(result))
    lines = [f"{row['group']}: {name}: {_share(row)}" for name, row in zip(names, found, strict=True)]
    return [*lines, "The largest region of each group; regions.csv and values.csv have all"]


def _share(row: Mapping[str, object]) -> str:
    """A share with its interval; a decoded one that lies outside it is not said: the interval is what holds."""
    from barrow.questions.answer import number

    share, low, high = (number(row, name) for name in ("share", "low_95", "high_95"))
    if low <= share <= high:
        return with_interval(share, low, high, PERCENT)
    return f"from {at_least(low, PERCENT, digits=2)} to {at_most(high, PERCENT, digits=2)} (95 %)"


def _unit(result: Release) -> str:
    """The unit of items that are numbers."""
    rows, unit = result.tables["values"], result.statement.unit
    return f" {unit}" if unit and rows and _number(str(rows[0]["item"])) else ""


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
