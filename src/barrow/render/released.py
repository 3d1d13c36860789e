"""Pictures of released values, from a statement and its tables; with the space they are drawn where items are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.questions.statement import Statement
from barrow.questions.value_tables import Rows, bounds_of, counted_rows, names_of, places_of, unit_of, values_of
from barrow.render.figures import Figure, bars, map_figure, points
from barrow.render.figures.readings import Readings
from barrow.render.item_figures import item_figure
from barrow.spaces import Space
from barrow.study.prose import kind_of

_SHARE, _REPORTS = "%", "reports"


def values_figure(
    statement: Statement,
    tables: Mapping[str, Rows],
    space: Space | None = None,
    *,
    outline: Any = None,
    title: str = "",
    width: int = 720,
    **style: Any,
) -> Figure:
    """The figure of released values.

    One value for each item is drawn on the space, shares of places on a map, other shares as bars from 0, and
    everything else as points on an axis.

    Args:
        statement: The statement.
        tables: The tables of values.
        space: The study's space, where it is known.
        outline: GeoJSON instead of the bundled coasts and borders.
        title: What the figure is; by default what was released.
        width: In pixels.
        style: ``scale`` of :mod:`barrow.render.figures`: what several pictures share.
    """
    rows = _determined(statement, tables)
    where = None if space is None else space.geometry.within or space.records_space
    known = bounds_of(statement.answer, {**tables, "values": rows})
    kind, shown = kind_of(statement), title or statement.released
    unit = unit_of(statement.answer, rows, kind.traits.of_shares)
    style.update(known.style, unit=unit, title=shown[:1].upper() + shown[1:], width=width)
    values, items = values_of(rows), "item" in rows[0] or "report" in rows[0]
    on_map: dict[str, Any] = {} if known.regions is None else {"regions": known.regions}
    if where is not None and items and where.size == len(rows):
        return item_figure(where, values, outline=outline, **style, **(on_map if where.geometry.on_earth else {}))
    if "lat" in rows[0] and "lon" in rows[0]:
        places = places_of(rows, None if where is None else where.geometry.box)
        return map_figure(places, values, outline=outline, **style, **on_map)
    if unit in (_SHARE, _REPORTS):
        return bars(names_of(rows), values, alike=kind.traits.alike, **style)
    style.pop("noise")
    if (scale := style.pop("scale", None)) is not None:
        low, high = (scale.value if end is None else end for end in (scale.low, scale.high))
        style["span"] = float(low.min()), float(high.max())
    round_it = where is not None and where.geometry.periodic and where.geometry.gaps is not None
    turn = 2.0 * statement.diameter if round_it else None
    return points(names_of(rows), values, turn=turn, **style)


def readings_of(statement: Statement, tables: Mapping[str, Rows]) -> Readings:
    """The numbers of a figure: values, intervals and noise, with their unit."""
    rows = _determined(statement, tables)
    known = bounds_of(statement.answer, {**tables, "values": rows})
    unit = unit_of(statement.answer, rows, kind_of(statement).traits.of_shares)
    return Readings.of(values_of(rows), low=known.low, high=known.high, noise=_every(known.noise, len(rows)), unit=unit)


def _every(noise: Any, count: int) -> Any:
    return None if noise is None else np.broadcast_to(np.asarray(noise, dtype=np.float64), (count,))


def _determined(statement: Statement, tables: Mapping[str, Rows]) -> Rows:
    turn = 2.0 * statement.diameter
    rows = [_unwrapped(row, turn) for row in counted_rows(tables["values"]) if row.get("determined", True)]
    if not rows:
        raise ParameterError(
            "No value is determined.", allowed="values that the noise leaves something of", fix="looser promises"
        )
    return rows


def _unwrapped(row: dict[str, Any], turn: float) -> dict[str, Any]:
    """A row whose interval goes through the beginning of a circle, with ends around its value on one line."""
    low, high = row.get("low_95"), row.get("high_95")
    if low is None or high is None or low <= high:
        return row
    return {**row, "high_95": high + turn} if row["value"] >= low else {**row, "low_95": low - turn}
