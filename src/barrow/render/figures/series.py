"""One value for each period or group, with its interval: a line over time, or points side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

from barrow.errors import ParameterError
from barrow.numerics.exact import between, near, within
from barrow.render.figures.curves import end_labels, labels_width
from barrow.render.figures.figure import Figure, build_figure
from barrow.render.figures.svg import (
    AxisScale,
    clean,
    element,
    isolated,
    left_axis,
    mark,
    number,
    polyline,
    shortened,
    text_width,
    ticks_width,
)


def intervals(
    names: Sequence[str],
    values: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    *,
    unit: str = "",
    title: str = "",
    joined: bool = False,
    groups: Sequence[str] | None = None,
    span: tuple[float, float] | None = None,
    width: int = 720,
    height: int = 280,
) -> Figure:
    """A point with its interval for each name; ``joined`` by a line where they follow each other in time.

    Values that are not determined (NaN) have an interval and no point. Values of different ``groups`` with one name
    stand side by side there, each group with a line and a colour of its own. Pictures with one ``span`` have one axis.

    >>> print(intervals(["2026-01", "2026-02"], [4.0, 5.0], [3.5, 4.5], [4.5, 5.5], unit="km", title="Mean"))
    Mean. 2 values from 4 to 5 km, each with its 95 % interval.
    """
    lengths = {len(names), len(values), len(low), len(high), len(names if groups is None else groups)}
    ends = [*low, *high]
    if len(lengths) != 1 or not names or not all(map(math.isfinite, ends)):
        raise ParameterError(
            f"There are {len(names)} names, {len(values)} values and {len(ends)} ends of intervals.",
            allowed="one of each, and finite intervals",
            fix='intervals(["2026-01"], [4.0], [3.5], [4.5])',
        )
    kinds = list(dict.fromkeys(groups or []))
    top, bottom = 44.0, height - 40.0
    ends = ends if span is None else [*ends, *span]
    spare = 0.06 * (max(ends) - min(ends)) or abs(max(ends)) * 0.1 or 1.0
    y = AxisScale(min(ends) - spare, max(ends) + spare, bottom, top)

    def write(value: float) -> str:
        return near(value, "%") if unit == "%" else near(value)

    left = ticks_width(y, write)
    right = width - (labels_width(kinds, 0.3 * width) if kinds else 12.0)
    places = {name: k for k, name in enumerate(dict.fromkeys(names))}
    slot = (right - left) / len(places)
    curves: dict[str, list[tuple[float, float]]] = {}
    marks = [_axis_names(list(places), left, slot, bottom, width, alternate=not joined)]
    for k, name in enumerate(names):
        group = groups[k] if groups is not None else ""
        beside = (kinds.index(group) - (len(kinds) - 1) / 2) * min(9.0, 0.6 * slot / len(kinds)) if kinds else 0.0
        x, value = left + slot * (places[name] + 0.5) + beside, float(values[k])
        known = math.isfinite(value)
        shown = between(float(low[k]), float(high[k]), unit)
        whole = f"{group}, {name}" if group and group != name else name
        text = (
            f"{isolated(whole)}: {within(value, low[k], high[k], unit) if known else 'not determined'}, {shown} (95 %)"
        )
        line = f"M{number(x)},{number(y(float(low[k])))}V{number(y(float(high[k])))}"
        parts = [element("path", d=line, class_="casing"), element("path", d=line, class_="whisker")]
        if known:
            curves.setdefault(group, []).append((x, y(value)))
            parts.append(element("circle", cx=x, cy=y(value), r=4.0 if slot > 12 else 2.0, class_="kept"))
        middle = y(value) if known else (y(float(low[k])) + y(float(high[k]))) / 2
        marks.append(mark(*parts, at=(x, middle), label=text))
    lines = [
        element("path", d=polyline(own), class_=f"curve k{(kinds.index(group) if kinds else 0) % 4}")
        for group, own in curves.items()
        if joined and len(own) > 1
    ]
    body = [left_axis(y, left, clean(unit), write, right=right), *lines, *marks]
    if kinds:
        last = [(own[-1][1], group, "", f"t{kinds.index(group) % 4}") for group, own in curves.items()]
        body.append(end_labels(last, right, top, bottom, width - right))
    known_values = [float(value) for value in values if math.isfinite(value)]
    many = f"{len(names):,} value{'s' * (len(names) > 1)}"
    ends_words = (
        f" from {near(min(known_values))} to {near(max(known_values), unit)}" if known_values else ", none determined"
    )
    about = f"{many}{ends_words}, each with its 95 % interval."
    return build_figure(*body, title=title, description=about, width=width, height=height, kind="intervals", reach=200)


def _axis_names(
    names: Sequence[str], left: float, slot: float, bottom: float, width: int, *, alternate: bool = False
) -> str:
    """Names below the axis, those that would touch left out, or on two lines in turn where each is of its own."""
    parts, free = [], [-1e9, -1e9]
    labels = [shortened(name, max(slot * 1.6, 0.2 * width), 11.5) for name in names]
    rows = 1 + (alternate and max(text_width(label, 11.5) for label in labels) + 8 > slot)
    for k, label in enumerate(labels):
        wide, row = text_width(label, 11.5), k % rows
        start = min(max(left + slot * (k + 0.5) - wide / 2, 2.0), width - wide - 1)
        if start > free[row]:
            parts.append(element("text", text=label, x=start, y=bottom + 17 + 14 * row, class_="tick"))
            free[row] = start + wide + 8
    return "".join(parts)
