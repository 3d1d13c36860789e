"""Values on an axis, each a point with its interval: means, quantiles, totals, directions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from barrow.numerics.exact import between, near, within
from barrow.render.figures.bars import each_text
from barrow.render.figures.data import PointData
from barrow.render.figures.figure import Figure, build_figure
from barrow.render.figures.readings import Numbers, Readings, checked_labels
from barrow.render.figures.svg import AxisScale, bottom_axis, clean, element, mark, side_label, text_width

_ROW, _TOP = 30.0, 12.0


def points(
    labels: Sequence[object],
    values: Numbers,
    *,
    low: Numbers | None = None,
    high: Numbers | None = None,
    unit: str = "",
    title: str = "Values",
    span: tuple[float, float] | None = None,
    turn: float | None = None,
    width: int = 720,
) -> Figure:
    """One point for each label on a common axis, which need not begin at 0, with its 95 % interval.

    Args:
        labels: What each value is.
        values: The values.
        low: The lower ends of 95 % intervals.
        high: The upper ends.
        unit: The unit of the values.
        title: What the figure is.
        span: What values can be at all: the axis does not go beyond it.
        turn: Of values on a circle, how long it is: the axis goes on from its beginning there.
        width: In pixels.

    >>> print(points(["mean"], [35.3], low=[32.7], high=[37.9], unit="min", title="Way to work"))
    Way to work. mean: 35.3 min, 95 % interval 32.7 to 37.9 min.
    """
    readings = replace(Readings.of(values, low=low, high=high, unit=unit), from_zero=False)
    names = checked_labels(labels, len(readings))
    room = min(max(text_width(clean(name)[:200]) for name in names) + 14, (0.36 if width >= 500 else 0.42) * width)
    wide = width >= 500
    shown = [_value_text(readings, i, turn, wide) for i in range(len(names))]
    side = max(text_width(text, 11.5) for text in shown) + 14
    a, b = _ends(readings, span if turn is None else None)
    bottom = _TOP + _ROW * len(names)
    x = AxisScale(a, b, room, width - side - 4, unit)
    body = []
    for i, name in enumerate(names):
        y, at = _TOP + _ROW * (i + 0.5), x(float(readings.value[i]))
        parts = [
            element("path", d=f"M{x.start:.1f},{y:.1f}H{x.end:.1f}", class_="grid"),
            side_label(name, room - 12, room - 10, y),
            element("text", text=shown[i], x=x.end + 10, y=y + 4, class_="tick"),
        ]
        if readings.low is not None and readings.high is not None:
            left, right = x(float(readings.low[i])), x(float(readings.high[i]))
            parts.append(element("path", d=f"M{left:.1f},{y:.1f}H{right:.1f}", class_="span"))
        parts.append(element("circle", cx=at, cy=y, r=5.5, class_="point"))
        label = f"{clean(name)}: {_value_text(readings, i, turn, True)}"
        body.append(mark(*parts, at=(at, y), label=label if turn else readings.describe(i, name)))

    def write(tick: float) -> str:
        return near(tick if turn is None else tick % turn, digits=6)

    axis = bottom_axis(x, bottom, clean(unit), write, top=_TOP)
    sentence = (
        each_text(readings, names)
        if turn is None
        else "; ".join(f"{clean(name)}: {_value_text(readings, i, turn, True)}" for i, name in enumerate(names)) + "."
    )
    figure = build_figure(
        axis, *body, title=title, description=sentence, width=width, height=bottom + 46, kind="points", reach=200
    )
    return replace(figure, data=PointData(names, readings, turn))


def _value_text(readings: Readings, i: int, turn: float | None, whole: bool) -> str:
    def once(value: float) -> float:
        return value if turn is None else value % turn

    if readings.low is None or readings.high is None:
        return near(once(float(readings.value[i])), readings.unit)
    a, b = float(readings.low[i]), float(readings.high[i])
    value = within(once(float(readings.value[i])), a, b, readings.unit)
    if not whole:
        return value
    if turn is None:
        return f"{value}  ({between(a, b, readings.unit)})"
    low, high = between(a + turn, b + turn, "").split(" to ")  # rounded outwards, then turned back
    return f"{value}  ({near(float(low.replace(',', '')) % turn, digits=6)} to " + (
        f"{near(float(high.replace(',', '')) % turn, readings.unit, digits=6)})"
    )


def _ends(readings: Readings, span: tuple[float, float] | None) -> tuple[float, float]:
    """Where the axis begins and ends: about all intervals, with room, and within what values can be."""
    low = readings.value if readings.low is None else readings.low
    high = readings.value if readings.high is None else readings.high
    a, b = float(low.min()), float(high.max())
    spare = (b - a) * (0.12 if len(readings) > 1 else 1.0) or abs(b) * 0.2 or 1.0
    a, b = a - spare, b + spare
    if span is not None:
        a, b = max(a, min(span[0], float(low.min()))), min(b, max(span[1], float(high.max())))
    return (a, b) if math.isfinite(a) and b > a else (a - 1.0, a + 1.0)
