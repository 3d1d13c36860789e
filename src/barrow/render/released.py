"""Pictures of released values, from a statement and its tables; with the space they are drawn where items are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barrow.errors import ParameterError
from barrow.questions.statement import Statement
from barrow.questions.value_tables import Rows, bounds_of, counted_rows, names_of, places_of, unit_of, values_of
from barrow.render.figures import Figure, bars, map_figure
from barrow.render.item_figures import item_figure
from barrow.spaces import Space
from barrow.study.prose import kind_of


def values_figure(
    statement: Statement,
    tables: Mapping[str, Rows],
    space: Space | None = None,
    *,
    outline: Any = None,
    title: str = "",
    width: int = 720,
) -> Figure:
    """The figure of released values: on the space where there is one value for each item, else on a map or as bars.

    Args:
        statement: The statement.
        tables: The tables of values.
        space: The study's space, where it is known.
        outline: GeoJSON instead of the bundled coasts and borders.
        title: What the figure is; by default what was released.
        width: In pixels.
    """
    kind = kind_of(statement)
    turn = 2.0 * statement.diameter
    rows = [_unwrapped(row, turn) for row in counted_rows(tables["values"]) if row.get("determined", True)]
    if not rows:
        raise ParameterError(
            "No value is determined.", allowed="values that the noise leaves something of", fix="looser promises"
        )
    where = None if space is None else space.geometry.within or space.records_space
    known = bounds_of(statement.answer, {**tables, "values": rows})
    shown = title or statement.released
    style: dict[str, Any] = {
        **known.style,
        "unit": unit_of(statement.answer, rows, kind.traits.of_shares),
        "title": shown[:1].upper() + shown[1:],
        "width": width,
    }
    values, items = values_of(rows), "item" in rows[0] or "report" in rows[0]
    on_map: dict[str, Any] = {} if known.regions is None else {"regions": known.regions}
    if where is not None and items and where.size == len(rows):
        return item_figure(where, values, outline=outline, **style, **(on_map if where.geometry.on_earth else {}))
    if "lat" in rows[0] and "lon" in rows[0]:
        places = places_of(rows, None if where is None else where.geometry.box)
        return map_figure(places, values, outline=outline, **style, **on_map)
    return bars(names_of(rows), values, alike=kind.traits.alike, **style)


def _unwrapped(row: dict[str, Any], turn: float) -> dict[str, Any]:
    """A row whose interval goes through the beginning of a circle, with ends around its value on one line."""
    low, high = row.get("low_95"), row.get("high_95")
    if low is None or high is None or low <= high:
        return row
    return {**row, "high_95": high + turn} if row["value"] >= low else {**row, "low_95": low - turn}
