"""A matrix of colours for products of two small spaces: weekdays by hours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from barrow.errors import ParameterError
from barrow.numerics.exact import near
from barrow.render.figures.bars import MOST_BARS, bars, largest_text
from barrow.render.figures.data import MatrixData, key_of
from barrow.render.figures.figure import Figure, build_figure
from barrow.render.figures.readings import (
    Beside,
    Numbers,
    Readings,
    checked_labels,
    class_edges,
    class_names,
    classes_of,
    finite,
)
from barrow.render.figures.svg import (
    AxisScale,
    Floats,
    bottom_axis,
    clean,
    element,
    hatched,
    left_axis,
    legend,
    mark,
    shades_of,
    shortened,
    text_width,
)

MOST_CELLS = 4_000


def matrix(
    rows: Sequence[object],
    columns: Sequence[object],
    values: Numbers,
    *,
    title: str = "Values by row and column",
    width: int = 720,
    across_first: bool = False,
    ends: tuple[Floats, Floats] | None = None,
    unit_of_ends: str = "",
    note: str = "",
    scale: Readings | None = None,
    **beside: Unpack[Beside],
) -> Figure:
    """A cell for each pair of row and column, coloured in classes no narrower than a 95 % interval.

    Args:
        rows: Labels from top to bottom.
        columns: Labels from left to right.
        values: One for each pair, row by row.
        title: What the figure is.
        width: In pixels.
        across_first: Name the column before the row: x before y.
        ends: Of a plane, where columns begin and end from the left, and rows from below: axes in place of labels.
        unit_of_ends: The unit of these.
        note: What else is to be said of it.
        scale: The readings of all pictures that share this one's classes of colour.
        beside: Intervals, noise and unit, see :class:`Beside`; cells not above the noise are hatched.

    >>> print(matrix(["Mon", "Tue"], ["am", "pm"], [[0.1, 0.2], [0.3, 0.4]], title="When"))
    When. The largest value is Tue, pm: 40 %.
    """
    shape = finite(values, "values").shape
    if shape not in ((len(rows), len(columns)), (len(rows) * len(columns),)):
        raise ParameterError(
            f"values has the shape {shape} for {len(rows)} rows and {len(columns)} columns.",
            allowed="a value for each row and column",
            fix="values of shape (rows, columns)",
        )
    across, down = checked_labels(columns, len(columns)), checked_labels(rows, len(rows))
    readings = Readings.of(values, **beside)
    if len(readings) > MOST_CELLS:
        return _largest(down, across, readings, title, width, across_first)
    names = [_named(row, column, across_first) for row in down for column in across]
    edges = class_edges(readings if scale is None else scale)
    said_classes = class_names(edges, readings.unit)
    shades = shades_of(said_classes)
    classes = np.asarray(shades)[classes_of(readings, edges)]
    left = _room(down, width) if ends is None else text_width(near(float(np.abs(ends[1]).max()), digits=6)) + 20
    top, size = 26.0, (width - left - (6 if ends is None else 16)) / len(across)
    tall = _height(size, len(down), width if ends is not None else None)
    body = [_sides(down, across, left, top, (size, tall), width)] if ends is None else []
    gap = 1.0 if size > 6 else 0.0
    shown = [near(v, readings.unit, digits=2) for v in readings.value]
    fits = tall >= 18 and max(text_width(text, 12) for text in shown) + 4 <= size
    for k, name in enumerate(names):
        x, y = left + (k % len(across)) * size, top + (k // len(across)) * tall
        body.append(
            mark(
                _cell(x, y, size - gap, tall - gap, int(classes[k])),
                _value(shown[k], x + size / 2, y + tall / 2, int(classes[k])) if fits else "",
                at=(x + size / 2, y + tall / 2),
                label=readings.describe(k, name),
            )
        )
    bottom = top + tall * len(down) + 14
    if ends is not None:
        body.append(_axes(ends, unit_of_ends, (left, top, left + size * len(across), bottom - 14)))
        bottom += 36

    def key_with(below: bool) -> tuple[str, float]:
        return legend(said_classes, x=left, y=bottom, width=width - left, below=below, classes=shades)

    key, used = key_with(bool((classes == 0).any()))
    used = used if scale is None else key_with(True)[1]  # pictures that share a scale are of one height
    sentence = largest_text(readings, names) + (note and f" {note}")
    figure = build_figure(
        *body, key, title=title, description=sentence, width=width, height=bottom + used, kind="matrix", reach=30
    )
    return replace(figure, data=MatrixData(down, across, classes, key_of(shades, said_classes, classes)))


def _named(row: str, column: str, across_first: bool) -> str:
    return f"{clean(column)}, {clean(row)}" if across_first else f"{clean(row)}, {clean(column)}"


def _largest(
    down: Sequence[str], across: Sequence[str], readings: Readings, title: str, width: int, across_first: bool
) -> Figure:
    """Bars of the largest cells, where a matrix would have too many."""
    # The bars draw the first of these and count all, so only a few names are ever made.
    largest = readings.largest(MOST_BARS)
    names = [""] * len(readings)
    for k in largest.tolist():
        names[k] = _named(down[k // len(across)], across[k % len(across)], across_first)
    r = readings
    return bars(names, r.value, low=r.low, high=r.high, noise=r.noise, unit=r.unit, title=title, width=width)


def _room(down: Sequence[str], width: int) -> float:
    """The room of the labels of rows."""
    return min(max(text_width(clean(row)[:200]) for row in down) + 12, (0.3 if width >= 500 else 0.42) * width)


def _height(size: float, rows: int, plane: int | None) -> float:
    """How high a row is: of a plane as high as wide, or less, so that all of it is seen at once."""
    if plane is not None:
        return min(size, min(440.0, 1.1 * plane) / rows)
    return min(max(size, 18.0), 30.0) if rows < 60 else max(6.0, 1400 / rows)


def _sides(
    down: Sequence[str], across: Sequence[str], left: float, top: float, cell: tuple[float, float], width: int
) -> str:
    """The labels of columns and rows, as many as do not touch."""
    (size, tall), parts = cell, []
    for j in range(0, len(across), max(1, math.ceil(len(across) * _widest(across) / (width - left)))):
        text = shortened(across[j], max(size, _widest(across)), 11.5)
        middle = min(left + (j + 0.5) * size, width - text_width(text, 11.5) / 2)
        parts.append(element("text", text=text, x=middle, y=top - 8, class_="tick mid"))
    for i in range(0, len(down), max(1, math.ceil(14 / tall))):
        text = shortened(down[i], left - 10)
        parts.append(element("text", text=text, x=left - 8, y=top + (i + 0.5) * tall + 4, class_="end"))
    return "".join(parts)


def _axes(ends: tuple[Floats, Floats], unit: str, frame: tuple[float, float, float, float]) -> str:
    """Axes of a plane, below it and at its left."""
    left, top, right, bottom = frame
    x = AxisScale(float(ends[0][0]), float(ends[0][-1]), left, right, unit)
    y = AxisScale(float(ends[1][0]), float(ends[1][-1]), bottom, top, unit)
    return bottom_axis(x, bottom, clean(unit), lambda t: near(t, digits=6)) + left_axis(
        y, left, clean(unit), lambda t: near(t, digits=6), lift=10
    )


def _widest(labels: Sequence[str]) -> float:
    return min(60.0, max(text_width(clean(label)[:40], 11.5) for label in labels) + 8)


def _cell(x: float, y: float, width: float, height: float, number: int) -> str:
    if number == 0:
        return element("rect", x=x, y=y, width=width, height=height, class_="open") + element(
            "rect", x=x, y=y, width=width, height=height, fill=hatched()
        )
    return element("rect", x=x, y=y, width=width, height=height, class_=f"cell q{number}")


def _value(text: str, x: float, y: float, number: int) -> str:
    return element("text", text=text, x=x, y=y + 4, class_=f"mid v{number}") if number else ""
