"""Pictures of released values, from a statement and its tables; with the space they are drawn where items are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.figures import Figure, Places, bars, map_figure
from barrow.figures.readings import Regions
from barrow.questions.merging import NUMBER, REGIONS
from barrow.spaces import Space
from barrow.spaces.base import Floats

Rows = list[dict[str, Any]]
_SHARE, _VALUE = "%", ("value", "share", "count")
_NAME = ("output", "item", "report", "quantile")


@dataclass(frozen=True, eq=False)
class Bounds:
    """What goes with values beside themselves.

    Attributes:
        low: The lower ends of 95 % intervals, one for each value.
        high: The upper ends.
        noise: What the noise alone reaches anywhere with 5 %: a value not above it cannot be told from 0.
        regions: Neighbouring values that stand out of the noise together.
    """

    low: Floats | None = None
    high: Floats | None = None
    noise: Floats | float | None = None
    regions: Regions | None = None

    @property
    def style(self) -> dict[str, Any]:
        """As figures take them."""
        return {"low": self.low, "high": self.high, "noise": self.noise}


def counted_rows(rows: Rows) -> Rows:
    """The rows; a list of reports becomes one row for each kind with its count."""
    if rows and set(rows[0]) == {"report"}:
        counted = Counter(row["report"] for row in rows)
        return [{"report": label, "count": count} for label, count in sorted(counted.items())]
    return rows


def values_of(rows: Rows) -> Floats:
    """The column that was released."""
    column = next(name for name in _VALUE if name in rows[0])
    return np.array([math.nan if row[column] is None else row[column] for row in rows], dtype=np.float64)


def names_of(rows: Rows) -> list[str]:
    """What each value is."""
    column = next(name for name in _NAME if name in rows[0])
    if column == "quantile":
        return ["median" if float(row[column]) == 0.5 else f"quantile {row[column]}" for row in rows]
    return [str(row[column]) for row in rows]


def bounds_of(said: Mapping[str, Any], tables: Mapping[str, Rows]) -> Bounds:
    """The intervals that rows hold themselves, and the regions that stand out."""
    rows = counted_rows(tables["values"])
    if "low_95" in rows[0]:
        low, high = (np.array([row[name] for row in rows], dtype=np.float64) for name in ("low_95", "high_95"))
        return Bounds(low, high, regions=_regions(rows, tables.get(REGIONS, [])))
    if "half_width_95" not in rows[0]:
        return Bounds()
    values, width = values_of(rows), np.array([row["half_width_95"] for row in rows], dtype=np.float64)
    many = said.get("half_width_95_all") if len(rows) > 1 else None
    return Bounds(values - width, values + width, many)


def _regions(rows: Rows, found: Rows) -> Regions | None:
    if not found or NUMBER not in rows[0]:
        return None
    of = np.array([row[NUMBER] for row in rows], dtype=np.int64)
    columns = [np.array([row[name] for row in found], dtype=np.float64) for name in ("share", "low_95", "high_95")]
    return Regions(of, *columns)


def unit_of(said: Mapping[str, Any], rows: Rows, shares: bool) -> str:
    """The unit of the values; shares are said in per cent."""
    if shares or "share" in rows[0]:
        return _SHARE
    return str(rows[0].get("unit") or said.get("unit_of_values") or "")


def places_of(rows: Rows, box: Any = None) -> Places:
    """Where rows with coordinates are: cells about the points of a grid, or points."""
    lat, lon = (np.array([row[name] for row in rows], dtype=np.float64) for name in ("lat", "lon"))
    lines = len(np.unique(np.round(lat, 9)))
    if len(lat) > 1 and lines > 0.5 * len(lat):  # no grid: each has a latitude of its own
        return Places.points(lat, lon)
    return Places.around(lat, lon, box=box)


def picture(
    said: Mapping[str, Any],
    tables: Mapping[str, Rows],
    space: Space | None,
    *,
    shares: bool,
    outline: Any = None,
    title: str = "",
    width: int = 720,
    alike: bool = True,
) -> Figure:
    """The figure of released values: on the space where there is one value for each item, else on a map or as bars.

    Args:
        said: The statement.
        tables: The tables of values.
        space: The study's space, where it is known.
        shares: Whether the values are shares.
        outline: GeoJSON instead of the bundled coasts and borders.
        title: What the figure is; by default what was released.
        width: In pixels.
        alike: Whether values are of one kind: if not, the largest of them says nothing.
    """
    rows = [row for row in counted_rows(tables["values"]) if row.get("determined", True)]
    if not rows:
        raise ParameterError(
            "No value is determined.", allowed="values that the noise leaves something of", fix="looser promises"
        )
    where = None if space is None else space.held
    known = bounds_of(said, {**tables, "values": rows})
    said_title = title or str(said.get("released", "Values"))
    style = {
        **known.style,
        "unit": unit_of(said, rows, shares),
        "title": said_title[:1].upper() + said_title[1:],
        "width": width,
    }
    values, items = values_of(rows), "item" in rows[0] or "report" in rows[0]
    on_map: dict[str, Any] = {} if known.regions is None else {"regions": known.regions}
    if where is not None and items and where.size == len(rows):
        return where.figure(values, outline=outline, **style, **(on_map if where.on_earth else {}))
    if "lat" in rows[0] and "lon" in rows[0]:
        places = places_of(rows, None if where is None else where.earth_box)
        return map_figure(places, values, outline=outline, **style, **on_map)
    return bars(names_of(rows), values, alike=alike, **style)
