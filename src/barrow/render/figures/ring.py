"""A histogram on a circle, drawn as one: hours of a day, directions of the wind."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Unpack

import numpy as np

from barrow.numerics.exact import near
from barrow.render.figures.bars import largest_text
from barrow.render.figures.figure import Figure, build_figure
from barrow.render.figures.readings import Beside, Numbers, Readings, checked_labels
from barrow.render.figures.svg import AxisScale, element, hatched, mark, number, shortened, text_width

_MOST = 180


def ring(
    labels: Sequence[object],
    values: Numbers,
    *,
    title: str = "Histogram on a circle",
    width: int = 480,
    scale: Readings | None = None,
    ticks: Sequence[tuple[float, str]] = (),
    **beside: Unpack[Beside],
) -> Figure:
    """One wedge for each part of the circle, clockwise from the top; the wedge's area is the value.

    Args:
        labels: What each part is.
        values: At least 0 in most cases; what is below 0 is drawn as 0.
        title: What the figure is.
        width: In pixels; the height is the same.
        scale: The readings of all pictures that share this one's scale.
        ticks: What is written around it, each with its part of the turn; by default labels, at their middles.
        beside: Intervals, noise and unit, see :class:`Beside`; wedges not above the noise are hatched.

    >>> print(ring(["night", "day"], [0.1, 0.9], title="When"))
    When. The largest value is day: 90 %.
    """
    readings = Readings.of(values, **beside)
    names = checked_labels(labels, len(readings))
    text, note, shape = largest_text(readings, names), "", len(readings) > 1 and bool(readings.below.all())
    if len(readings) > _MOST:
        # Neighbours share a wedge, which shows the largest of them.
        parts = np.array_split(np.arange(len(readings)), _MOST)
        largest = np.array([part[readings.value[part].argmax()] for part in parts], dtype=np.int64)
        note = f" Each wedge shows the largest of its values: there are {len(readings):,}."
        readings, names = readings.pick(largest), [names[i] for i in largest]
    count, middle = len(readings), width / 2
    written = ticks or [((i + 0.5) / count, names[i]) for i in range(0, count, math.ceil(count / 8))]
    room = max(text_width(name, 11.5) for _, name in written) + 18
    inner, outer = width * 0.13, width / 2 - min(max(room, 30.0), 0.2 * width)
    top = max((readings if scale is None else scale).top, 1e-300)
    area = AxisScale(0.0, top, inner**2, outer**2)

    def radius(value: float) -> float:
        return math.sqrt(area(min(max(value, 0.0), top)))

    def place(r: float, turn: float) -> tuple[float, float]:
        angle = 2 * math.pi * turn - math.pi / 2
        return middle + r * math.cos(angle), middle + r * math.sin(angle)

    rings = [tick for tick in AxisScale(0.0, top, 0, 1).ticks(3) if tick > 0]
    body = [element("circle", cx=middle, cy=middle, r=radius(t), class_="grid") for t in rings]
    for i, name in enumerate(names):
        r, turn = radius(readings.value[i]), (i + 0.5) / count
        filled = {"class_": "unsure", "fill": hatched()} if readings.below[i] else {"class_": "bar"}
        wedge = element("path", d=_wedge(place, i, count, inner, r), **filled)
        whisker = ""
        if readings.low is not None and readings.high is not None and not shape:
            (ax, ay), (bx, by) = (place(radius(e), turn) for e in (readings.low[i], readings.high[i]))
            line = f"M{number(ax)},{number(ay)}L{number(bx)},{number(by)}"
            whisker = element("path", d=line, class_="casing") + element("path", d=line, class_="whisker")
        body.append(mark(wedge, whisker, at=place(r, turn), label=readings.describe(i, name)))
    for tick in rings:
        x, y = place(radius(tick), 0.5 / count if count > 4 else 0.0)
        body.append(element("text", text=near(tick, readings.unit), x=x, y=y + 4, class_="tick mid halo"))
    for turn, name in written:
        x, y = place(outer + 12, turn)
        side = "mid" if abs(x - middle) < 0.08 * width else "end" if x < middle else "start"
        room = width * 0.5 if side == "mid" else min(x, width - x) - 2
        body.append(element("text", text=shortened(name, room, 11.5), x=x, y=y + 4, class_=f"tick {side}"))
    return build_figure(*body, title=title, description=text + note, width=width, height=width, kind="ring", reach=80)


def _wedge(place: Callable[[float, float], tuple[float, float]], i: int, count: int, inner: float, r: float) -> str:
    gap = 0.06 / count
    a, b = (i / count) + gap, ((i + 1) / count) - gap
    large = int(b - a > 0.5)
    p = [f"{number(x)},{number(y)}" for x, y in (place(inner, a), place(r, a), place(r, b), place(inner, b))]
    arc, back = (f"A{number(s)},{number(s)} 0 {large}" for s in (r, inner))
    return f"M{p[0]}L{p[1]}{arc} 1 {p[2]}L{p[3]}{back} 0 {p[0]}Z"
