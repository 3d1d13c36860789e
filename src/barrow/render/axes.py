"""Figures in axes of matplotlib, from the numbers of our own. Only people who bring such axes need matplotlib."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import singledispatch
from importlib import import_module
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.numerics.exact import PERCENT, near
from barrow.render.figures import Figure
from barrow.render.figures.data import BarData, ColumnData, MapData, MatrixData, PointData, Shades
from barrow.render.figures.figure import LIGHT
from barrow.render.figures.readings import Readings
from barrow.render.figures.svg import Floats, shortened

_FEW = 60
"""Columns that have bars and whiskers of their own."""
_MOST_NAMES = 40
_FULL = {"facecolor": LIGHT["q3"]}
_HATCHED = {"facecolor": "none", "edgecolor": LIGHT["hatch"], "hatch": "////", "linewidth": 0.5}
_PLAIN = {"parse_math": False}
"""Any label stays text, dollars too."""


def draw_on(figure: Figure | None, ax: Any) -> Any:
    """Draws what a figure shows into axes of matplotlib, and gives these back.

    Args:
        figure: Bars, points, a histogram, a map or a matrix.
        ax: Axes with x and y.

    >>> from barrow.render.figures import bars
    >>> draw_on(bars(["tea"], [0.2]), "left")
    Traceback (most recent call last):
        ...
    barrow.errors.ParameterError: ax is a str.
      allowed: axes of matplotlib with x and y
      fix:     figure, ax = matplotlib.pyplot.subplots()
    """
    known = sys.modules.get("matplotlib.axes")
    if known is None or not isinstance(ax, known.Axes) or ax.name != "rectilinear":
        raise ParameterError(
            f"ax is a {type(ax).__name__}.",
            allowed="axes of matplotlib with x and y",
            fix="figure, ax = matplotlib.pyplot.subplots()",
        )
    if figure is None or figure.data is None:
        shown = "Nothing" if figure is None else f'"{figure.title}"'
        raise ParameterError(
            f"{shown} cannot be drawn into axes.",
            allowed="histograms along a line or a circle, bars, means and quantiles, maps, matrices and planes",
            fix="leave ax out, and save the figure as .pdf or .svg",
        )
    _draw(figure.data, ax)
    return ax


@singledispatch
def _draw(data: object, ax: Any) -> None:
    raise NotImplementedError(type(data).__name__)


@_draw.register
def _(data: BarData, ax: Any) -> None:
    r, at = data.readings, np.arange(float(len(data.names)))
    for chosen, style in ((~r.below, _FULL), (r.below, _HATCHED)):
        ax.barh(at[chosen], r.value[chosen], 0.68, **style)
    _whiskers(ax, at, r, upright=False)
    _value_axis(ax.xaxis, r.unit, "share")
    ax.set_xlim(min(0.0, r.bottom), max(r.top, 1e-300) * 1.04)
    _names(ax.yaxis, data.names)
    ax.set_ylim(len(at) - 0.5, -0.5)


@_draw.register
def _(data: PointData, ax: Any) -> None:
    r, at, turn = data.readings, np.arange(float(len(data.names))), data.turn
    if r.low is not None and r.high is not None:
        ax.hlines(at, r.low, r.high, color=LIGHT["q3"], linewidth=3)
    ax.plot(r.value, at, "o", color=LIGHT["q5"])
    _value_axis(ax.xaxis, r.unit, "share")
    if turn is not None:
        ax.xaxis.set_major_formatter(lambda tick, _: near(tick % turn, digits=6))
    _names(ax.yaxis, data.names)
    ax.set_ylim(len(at) - 0.5, -0.5)


@_draw.register
def _(data: ColumnData, ax: Any) -> None:
    """Bars with whiskers; where they are many, steps with a band about what stands out."""
    r, ends = data.readings, data.ends
    for chosen, style in ((~r.below, _FULL), (r.below, _HATCHED)):
        if len(r) <= _FEW:
            middle, wide = (ends[1:] + ends[:-1]) / 2, np.diff(ends)
            ax.bar(middle[chosen], r.value[chosen], 0.92 * wide[chosen], **style)
        elif chosen.any():
            ax.stairs(np.where(chosen, r.value, np.nan), ends, fill=True, **style)
    if len(r) <= _FEW:
        _whiskers(ax, (ends[1:] + ends[:-1]) / 2, r, upright=True)
    elif r.low is not None and r.high is not None and not r.below.all():
        low, high = (np.where(r.below, np.nan, np.maximum(end, r.bottom)) for end in (r.low, r.high))
        ax.stairs(high, ends, baseline=low, fill=True, facecolor=LIGHT["ink"], alpha=0.38)
    _value_axis(ax.yaxis, r.unit, "share of people's records")
    ax.set_ylim(r.bottom, max(r.top, 1e-300) * 1.04)
    ax.set_xlim(ends[0], ends[-1])
    ax.set_xlabel(data.axis, **_PLAIN)


@_draw.register
def _(data: MapData, ax: Any) -> None:
    """Cells as polygons in degrees, as wide as they are in the middle of the map; points as discs."""
    south, west, north, east = data.box
    places = data.places
    if places.corners is not None:
        seen = (places.corners.max(axis=1) >= (south, west)).all(1) & (places.corners.min(axis=1) <= (north, east)).all(
            1
        )
        _paint(ax, places.corners[seen][:, :, ::-1], data.shades[seen])
    for shade in np.unique(data.shades) if places.corners is None else ():
        own = data.shades == shade
        ax.scatter(places.lon[own], places.lat[own], s=20, **_style(int(shade)))
    ax.set(xlim=(west, east), ylim=(south, north), xlabel="longitude (°E)", ylabel="latitude (°N)")
    ax.set_aspect(1.0 / max(math.cos(math.radians((south + north) / 2)), 0.1))
    _key(ax, data.key)


@_draw.register
def _(data: MatrixData, ax: Any) -> None:
    """A mesh: cells between the ends of a plane, or as many steps as there are names."""
    if data.ends is None:
        x, y = (np.arange(len(names) + 1) - 0.5 for names in (data.columns, data.rows))
        _names(ax.xaxis, data.columns, upright=len(data.columns) > 8)
        _names(ax.yaxis, data.rows)
    else:
        x, y = data.ends[0], data.ends[1][::-1]  # rows come from the top
        ax.set_xlabel(f"x ({data.axis})" if data.axis else "x", **_PLAIN)
        ax.set_ylabel(f"y ({data.axis})" if data.axis else "y", **_PLAIN)
        ax.set_aspect("equal")
    left, top = (ends.ravel() for ends in np.meshgrid(x[:-1], y[:-1]))
    right, below = (ends.ravel() for ends in np.meshgrid(x[1:], y[1:]))
    corners = [(left, top), (right, top), (right, below), (left, below)]
    _paint(ax, np.stack([np.stack(corner, axis=1) for corner in corners], axis=1), data.shades)
    ax.set(xlim=(x[0], x[-1]), ylim=(y[-1], y[0]) if data.ends is None or y[0] > y[-1] else (y[0], y[-1]))
    _key(ax, data.key)


def _paint(ax: Any, corners: Floats, shades: Shades) -> None:
    collections = import_module("matplotlib.collections")
    for shade in np.unique(shades).tolist():
        ax.add_collection(collections.PolyCollection(corners[shades == shade], **_style(shade)))


def _style(shade: int) -> dict[str, Any]:
    """The colour of a class, with edges that leave no seams; the hatching has none."""
    if not shade:
        return {**_HATCHED, "linewidth": 0.0}
    return {"facecolor": LIGHT[f"q{shade}"], "edgecolor": LIGHT[f"q{shade}"], "linewidth": 0.2}


def _key(ax: Any, key: Sequence[tuple[int, str]]) -> None:
    """The legend, beside the axes."""
    patches = import_module("matplotlib.patches")
    handles = [patches.Patch(label=name, **_style(shade)) for shade, name in key]
    legend = ax.legend(handles=handles, loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize="small")
    for text in legend.get_texts():
        text.set(**_PLAIN)


def _whiskers(ax: Any, at: Floats, readings: Readings, *, upright: bool) -> None:
    """95 % intervals; those of shares are cut at 0."""
    if readings.low is None or readings.high is None:
        return
    low, high = (np.maximum(end, readings.bottom) for end in (readings.low, readings.high))
    middle, half = (low + high) / 2, (high - low) / 2
    where = {"x": at, "y": middle, "yerr": half} if upright else {"x": middle, "y": at, "xerr": half}
    ax.errorbar(**where, fmt="none", ecolor=LIGHT["ink"], elinewidth=1, capsize=2)


def _value_axis(axis: Any, unit: str, what: str) -> None:
    """Shares have ticks in percent, everything else its unit as the label."""
    axis.set_label_text(what if unit == PERCENT else unit, **_PLAIN)
    if unit == PERCENT:
        axis.set_major_formatter(lambda tick, _: near(float(tick), PERCENT, digits=6))


def _names(axis: Any, names: Sequence[str], *, upright: bool = False) -> None:
    at = range(0, len(names), -(-len(names) // (_MOST_NAMES // 3 if upright else _MOST_NAMES)))
    rotation = {"rotation": 90} if upright else {}
    axis.set_ticks(at, labels=[shortened(names[k], 240) for k in at], **_PLAIN, **rotation)
