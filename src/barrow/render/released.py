"""Pictures of released values, from a statement and its tables; with the space they are drawn where items are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from barrow.errors import ParameterError
from barrow.questions.statement import Statement
from barrow.questions.value_tables import Rows, bounds_of, counted_rows, names_of, places_of, unit_of, values_of
from barrow.render import figures
from barrow.render.figures import Figure, bars, points
from barrow.render.figures.layers import FigureLayer, layered
from barrow.render.figures.readings import Readings, known_together
from barrow.render.item_figures import item_figure
from barrow.spaces import Space
from barrow.spaces.augmented import base_space
from barrow.study.prose import kind_of

_SHARE, _REPORTS = "%", "reports"
_OUTLINED = ("histogram", "bars")
"""Figures that can outline other values."""


def values_figure(
    statement: Statement,
    tables: Mapping[str, Rows],
    space: Space | None = None,
    *,
    outline: Any = None,
    title: str = "",
    width: int = 720,
    layers: Sequence[FigureLayer] = (),
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
        layers: What else the figure could show.
        style: ``scale`` of :mod:`barrow.render.figures`: what several pictures share.
    """
    rows = _determined(statement, drawn(statement, tables))
    where = None if space is None else space.geometry.within or space.records_space
    known = bounds_of(statement.answer, {**tables, "values": rows})
    kind, shown = kind_of(statement), title or statement.released
    unit = unit_of(statement.answer, rows, kind.traits.of_shares)
    style.update(unit=unit, title=shown[:1].upper() + shown[1:], width=width)
    values, items = values_of(rows), "item" in rows[0] or "report" in rows[0]
    on_space = where is not None and items and where.size == len(rows)
    layers = [layer for layer in layers if all(len(np.asarray(frame)) == len(rows) for frame in layer.frames)]
    if (on_space and base_space(cast("Space", where)).geometry.on_earth) or {"lat", "lon"} <= set(rows[0]):
        style.update(known.style, outline=outline, layers=layers)
        style.update({} if known.regions is None else {"regions": known.regions})
        if on_space:
            return item_figure(cast("Space", where), values, **style)
        return figures.map_figure(places_of(rows, None if where is None else where.geometry.box), values, **style)

    def draw(values: Any, **ends: Any) -> Figure:
        if on_space:
            return item_figure(cast("Space", where), values, outline=outline, **style, **ends)
        if unit in (_SHARE, _REPORTS):
            return bars(names_of(rows), values, alike=kind.traits.alike, **style, **ends)
        return _points(statement, rows, where, values, {**style, **ends})

    if not layers:
        return draw(values, **known.style)
    first = Readings.of(values, low=known.low, high=known.high, noise=known.noise, unit=unit)
    style["scale"] = Readings.together([first, *(one for layer in layers for one in _alike(layer, first))])
    figure = draw(values, **known.style)
    outlined = {"truth": values} if any(f'class="bw {kind}"' in figure.svg[:900] for kind in _OUTLINED) else {}
    return layered(figure, [_redrawn(layer, draw, outlined, unit) for layer in layers])


def _redrawn(
    layer: FigureLayer, draw: Callable[..., Figure], outlined: Mapping[str, Any], unit: str
) -> tuple[FigureLayer, list[Figure]]:
    """The pictures of a layer, with what was released outlined where that can be; points keep their intervals."""
    told = replace(layer, about=f"{layer.about} Outlined: what was released.") if outlined else layer
    ends = layer.ends if layer.ends and unit not in (_SHARE, _REPORTS) else [None] * len(layer.frames)
    frames = []
    for frame, span in zip(layer.frames, ends, strict=True):
        frames.append(draw(frame, **outlined, **({} if span is None else {"low": span[0], "high": span[1]})))
    return told, frames


def _alike(layer: FigureLayer, like: Readings) -> list[Readings]:
    """The values of a layer as what shares a scale with others: shares as sure as what was released is."""
    results = []
    for k, frame in enumerate(layer.frames):
        value = np.asarray(frame, dtype=np.float64)
        exact = like.unit in (_SHARE, _REPORTS) or not layer.ends
        if like.low is None or like.high is None:
            low, high = None, None
        elif exact:
            low, high = value - (like.value - like.low), value + (like.high - like.value)
        else:
            low, high = (np.asarray(end) for end in layer.ends[k])
        results.append(Readings(value, low, high, None if like.noise is None else 0.0 * value, like.unit))
    return results


def _points(statement: Statement, rows: Rows, where: Space | None, values: Any, style: dict[str, Any]) -> Figure:
    """Means, quantiles and totals: points on an axis."""
    style.pop("noise", None)
    style.pop("truth", None)
    if (scale := style.pop("scale", None)) is not None:
        low, high = (scale.value if end is None else end for end in (scale.low, scale.high))
        style["span"] = float(low.min()), float(high.max())
    round_it = where is not None and where.geometry.periodic and where.geometry.gaps is not None
    return points(names_of(rows), values, turn=2.0 * statement.diameter if round_it else None, **style)


def drawn(statement: Statement, tables: Mapping[str, Rows]) -> Mapping[str, Rows]:
    """The tables of what a picture shows: of a total not the mean beside it."""
    if not kind_of(statement).traits.first_drawn:
        return tables
    return {**tables, "values": tables["values"][:1]}


def readings_of(statement: Statement, tables: Mapping[str, Rows]) -> Readings:
    """The numbers of a figure: values, intervals and noise, with their unit; on a map as sure as their regions are."""
    rows = _determined(statement, drawn(statement, tables))
    known = bounds_of(statement.answer, {**tables, "values": rows})
    unit = unit_of(statement.answer, rows, kind_of(statement).traits.of_shares)
    every = {"low": known.low, "high": known.high, "noise": _every(known.noise, len(rows))}
    readings = Readings.of(values_of(rows), **every, unit=unit)
    on_map = known.regions is not None and {"lat", "lon"} <= set(rows[0])
    return known_together(readings, known.regions) if on_map and known.regions is not None else readings


def _every(noise: Any, count: int) -> Any:
    return None if noise is None else np.broadcast_to(np.asarray(noise, dtype=np.float64), (count,))


def _determined(statement: Statement, tables: Mapping[str, Rows]) -> Rows:
    turn = 2.0 * statement.diameter
    rows = counted_rows(tables["values"])
    if rows and "determined" in rows[0]:
        rows = [row for row in rows if row["determined"]]
    if rows and "value" in rows[0]:  # shares do not go round
        rows = [_unwrapped(row, turn) for row in rows]
    if not rows:
        raise ParameterError(
            "No value is determined.", allowed="values that are larger than the noise", fix="looser promises"
        )
    return rows


def _unwrapped(row: dict[str, Any], turn: float) -> dict[str, Any]:
    """A row whose interval goes through the beginning of a circle, with ends around its value on one line."""
    low, high = row.get("low_95"), row.get("high_95")
    if low is None or high is None or low <= high:
        return row
    return {**row, "high_95": high + turn} if row["value"] >= low else {**row, "low_95": low - turn}
