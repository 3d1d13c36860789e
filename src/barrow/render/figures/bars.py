"""Bars with whiskers: labels side by side, and numbers along a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Unpack

import numpy as np

from barrow.errors import ParameterError
from barrow.numerics.exact import PERCENT, at_most, near
from barrow.render.figures.data import BarData, ColumnData
from barrow.render.figures.figure import Figure, build_figure
from barrow.render.figures.readings import Beside, Numbers, Readings, checked_labels, finite
from barrow.render.figures.svg import (
    AxisScale,
    bottom_axis,
    clean,
    element,
    hatched,
    left_axis,
    mark,
    side_label,
    text_width,
    ticks_width,
)

MOST_BARS = 40
_FEW = 6


def bars(
    labels: Sequence[object],
    values: Numbers,
    *,
    title: str = "Values by label",
    most: int = MOST_BARS,
    labels_share: float = 0.4,
    width: int = 720,
    alike: bool = True,
    truth: Numbers | None = None,
    scale: Readings | None = None,
    **beside: Unpack[Beside],
) -> Figure:
    """One bar for each label, in the order given; only the ``most`` largest where there are more, and then it says so.

    Args:
        labels: What each bar is; any text.
        values: How long it is.
        title: What the figure is.
        most: How many bars are drawn.
        labels_share: How much of the width labels may take.
        width: In pixels.
        alike: Whether values are of one kind, so that the largest is a finding; if not, each of them is said.
        truth: What the values would be without noise, where that is public; marked on each bar.
        scale: The readings of all pictures that share this one's scale.
        beside: Intervals, noise and unit, see :class:`Beside`; bars not above the noise are hatched.

    >>> print(bars(["tea", "coffee"], [0.2, 0.7], low=[0.1, 0.6], high=[0.3, 0.8], title="Drinks"))
    Drinks. The largest value is coffee: 70 %, 95 % interval 60 % to 80 %.
    """
    readings = Readings.of(values, **beside)
    names = checked_labels(labels, len(readings))
    true = None if truth is None else finite(truth, "truth").ravel()
    sentence, note = largest_text(readings, names) if alike else each_text(readings, names), ""
    if len(readings) > most:
        largest = readings.largest(most)
        note = f"The {most} largest of {len(readings):,} are drawn."
        readings, names = readings.pick(largest), [names[i] for i in largest]
        true = None if true is None else true[largest]
    shown = [_ends(readings, i, width >= 500) for i in range(len(readings))]
    wanted = max(text_width(clean(name)[:200]) for name in names) + 12
    room, row = min(wanted, labels_share * width), 25.0 if wanted <= labels_share * width else 29.0
    side = max(text_width(text, 11.5) for text in shown) + 12
    top, bottom = 14.0, 14.0 + row * len(readings)
    ends = readings if scale is None else scale
    x = AxisScale(min(0.0, ends.bottom), max(ends.top, 1e-300), room, width - side - 6)
    zero = x(0.0)
    body = [_grid(x, top, bottom, readings.unit)]
    for i, name in enumerate(names):
        y = top + row * i
        label = side_label(name, room - 10, room - 8, y + row / 2)
        bar = _bar(min(zero, x(readings.value[i])), y + 4, abs(x(readings.value[i]) - zero), row - 8, readings.below[i])
        end = x.end + 8
        value = element("text", text=shown[i], x=end, y=y + 16, class_="tick")
        real = "" if true is None else element("path", d=f"M{x(true[i]):.1f},{y + 2:.1f}v{row - 4:.1f}", class_="truth")
        parts = [label, bar, _level_whisker(readings, i, x, y + row / 2), real, value]
        body.append(mark(*parts, at=(max(zero, x(readings.value[i])), y + row / 2), label=readings.describe(i, name)))
    body.append(element("path", d=f"M{zero:.1f},{top}V{bottom}", class_="axis"))
    if note:
        body.append(element("text", text=note, x=room, y=bottom + 36, class_="note"))
    height = bottom + (46 if note else 26)
    figure = build_figure(
        *body, title=title, description=f"{sentence}{note and ' ' + note}", width=width, height=height, kind="bars"
    )
    return replace(figure, data=BarData(names, readings))


def largest_text(readings: Readings, names: Sequence[object]) -> str:
    """The finding of a histogram in a sentence or two."""
    if len(names) == 1:
        return f"{readings.describe(0, names[0])}."
    return _finding(readings, lambda i: names[i])


def none_stands_out(readings: Readings) -> str:
    """The finding where every single value may be 0: only what many of them show together is known."""
    most = max(readings.ceiling(i) for i in range(len(readings)))
    none = f"No single one of {len(readings):,} values stands out from the noise"
    known = readings.unit != PERCENT or most < 1.0
    limit = f": each is at most {at_most(most, readings.unit, digits=2)}" if known else ""
    return f"{none}{limit}. Read the shape, not single bars."


def each_text(readings: Readings, names: Sequence[object]) -> str:
    """All values with their intervals; of many the first and the last."""
    shown = range(len(readings)) if len(readings) <= _FEW else (0, len(readings) - 1)
    return "; ".join(readings.describe(i, names[i]) for i in shown) + "."


def _ends(readings: Readings, i: int, whole: bool) -> str:
    if readings.below[i]:
        return "below the noise"
    value, ends = readings.told(i), readings.span(i)
    return f"{value}  ({ends})".strip() if ends and (whole or not value) else value


def _grid(x: AxisScale, top: float, bottom: float, unit: str) -> str:
    parts = []
    for tick in x.ticks(max(2, int((x.end - x.start) / 90))):
        parts.append(element("path", d=f"M{x(tick):.1f},{top}V{bottom}", class_="grid"))
        parts.append(element("text", text=near(tick, unit), x=x(tick), y=bottom + 16, class_="tick mid"))
    return "".join(parts)


def _bar(x: float, y: float, width: float, height: float, below: bool) -> str:
    if below:
        return element("rect", x=x, y=y, width=max(width, 0.5), height=height, class_="unsure", fill=hatched())
    return element("rect", x=x, y=y, width=max(width, 0.5), height=height, class_="bar")


def _level_whisker(readings: Readings, i: int, x: AxisScale, y: float) -> str:
    if readings.low is None or readings.high is None:
        return ""
    a, b = x(max(readings.low[i], x.low)), x(min(readings.high[i], x.high))
    cap = "" if readings.high[i] > x.high else f"M{b:.1f},{y - 4:.1f}v8"  # it goes on beyond the picture
    line = f"M{a:.1f},{y:.1f}H{b:.1f}M{a:.1f},{y - 4:.1f}v8{cap}"
    return element("path", d=line, class_="casing") + element("path", d=line, class_="whisker")


def histogram(
    edges: Numbers,
    values: Numbers,
    *,
    axis: str = "",
    what: str | None = None,
    labels: Sequence[object] | None = None,
    title: str = "Histogram",
    width: int = 720,
    height: int = 320,
    truth: Numbers | None = None,
    scale: Readings | None = None,
    **beside: Unpack[Beside],
) -> Figure:
    """A histogram along a line; where bins are many, each column shows the largest of its bins, and says so.

    Args:
        edges: Where the bins begin and end: one more than there are values, rising.
        values: The share of each bin.
        axis: The unit of the edges.
        what: What the values are; by default shares of people's records, or how many there are of what is counted.
        labels: What bins are called; by default their ends.
        title: What the figure is.
        width: In pixels.
        height: In pixels.
        truth: What the values would be without noise, where that is public; drawn as an outline.
        scale: The readings of all pictures that share this one's scale.
        beside: Intervals, noise and unit, see :class:`Beside`; bins not above the noise are hatched.

    >>> print(histogram([0, 10, 20], [0.25, 0.75], axis="years", title="Ages"))
    Ages. The largest value is 10 to 20 years: 75 %.
    """
    readings = Readings.of(values, **beside)
    ends = _rising(edges, len(readings))
    names = None if labels is None else checked_labels(labels, len(readings))

    def name(i: int) -> str:
        if names is not None:
            return f"{clean(names[i])} {clean(axis)}".strip()
        return f"{near(ends[i], digits=6)} to {near(ends[i + 1], digits=6)} {clean(axis)}".strip()

    text, height = _finding(readings, name), min(height, round(0.8 * width))
    top, bottom = 34.0, height - 50.0
    all_ends = readings if scale is None else scale
    y = AxisScale(min(0.0, all_ends.bottom), max(all_ends.top, 1e-300) * 1.04, bottom, top)
    last = text_width(near(ends[-1], digits=6), 11.5) / 2.0
    left, right = ticks_width(y, lambda t: near(t, readings.unit)), width - max(14.0, last + 2.0)
    x = AxisScale(float(ends[0]), float(ends[-1]), left, right, axis)
    columns = _columns(readings, ends, x)
    many = f"Each column shows the largest of its bins: there are {len(readings):,}."
    note = many if len(columns) < len(readings) else ""
    text += note and f" {note}"
    body = [
        left_axis(
            y,
            left,
            clean(_counted(readings.unit) if what is None else what),
            lambda t: near(t, readings.unit),
            right=right,
        )
    ]
    gap = 1.2 if (right - left) / len(columns) > 5 else 0.0
    whiskers: list[str] = []
    for i, a, b in columns:
        zero, level = y(max(0.0, y.low)), y(readings.value[i])
        bar = _bar(a + gap, min(zero, level), b - a - 2 * gap, abs(zero - level), readings.below[i])
        body.append(mark(bar, at=((a + b) / 2, level), label=readings.describe(i, name(i))))
        whiskers.append(_upright_whisker(readings, i, y, (a + b) / 2, (b - a) / 2))
    body += whiskers if (right - left) / len(columns) >= 5 else [_band(readings, columns, y)]
    body += [] if truth is None else [_outline(truth, columns, y)]
    fits = note and text_width(note, 12.0) < 0.8 * width  # what is too long stands in the text
    label = f"{clean(axis)}. {note}".strip(". ") if fits else clean(axis)
    body.append(bottom_axis(x, bottom, label, lambda t: near(t, digits=6)))
    figure = build_figure(
        *body, title=title, description=text, width=width, height=height, kind="histogram", reach=10**4
    )
    return replace(figure, data=ColumnData(ends, readings, clean(axis)))


def _rising(edges: Numbers, count: int) -> np.ndarray:
    """The edges of so many bins, checked."""
    ends = finite(edges, "edges").ravel()
    if len(ends) != count + 1 or not (np.diff(ends) > 0).all():
        raise ParameterError(
            f"There are {len(ends)} edges for {count} values.",
            allowed="one edge more than values, each above the one before",
            fix="edges=[0, 10, 20]",
        )
    return ends


def _counted(unit: str) -> str:
    return "share of people's records" if unit == PERCENT else f"number of {unit}" if unit else "value"


def _finding(readings: Readings, name: Callable[[int], object]) -> str:
    best, below = int(readings.value.argmax()), int(readings.below.sum())
    if below == len(readings) > 1:
        return none_stands_out(readings)
    many = f" {below:,} of {len(readings):,} values cannot be distinguished from 0." if below else ""
    beside = sum(readings.beside(i) for i in np.flatnonzero(~readings.below).tolist())
    apart = f" {beside:,} of the others lie{'s' * (beside == 1)} beside {'its' if beside == 1 else 'their'} interval: "
    apart += "the values were decoded together, an interval is about one value alone."
    return f"The largest value is {readings.describe(best, name(best))}.{many}{apart if beside else ''}"


def _columns(readings: Readings, ends: np.ndarray, x: AxisScale) -> list[tuple[int, float, float]]:
    """Which bin stands where: every bin, or of the bins that begin in one column of pixels the largest."""
    count = len(readings)
    if count <= (x.end - x.start) / 2:
        return [(i, x(ends[i]), x(ends[i + 1])) for i in range(count)]
    slots = int((x.end - x.start) / 2)
    slot = np.minimum(((ends[:-1] - ends[0]) / (ends[-1] - ends[0]) * slots).astype(np.int64), slots - 1)
    order = np.lexsort((np.arange(count), -readings.value, slot))
    first = np.flatnonzero(np.r_[True, np.diff(slot[order]) > 0])
    step = (x.end - x.start) / slots
    return [(int(i), x.start + step * slot[i], x.start + step * (slot[i] + 1)) for i in order[first]]


def _outline(truth: Numbers, columns: Sequence[tuple[int, float, float]], y: AxisScale) -> str:
    true = finite(truth, "truth").ravel()
    steps = "L".join(f"{a:.1f},{y(true[i]):.1f}H{b:.1f}" for i, a, b in columns)
    return element("path", d=f"M{steps}", class_="truth")


def _band(readings: Readings, columns: Sequence[tuple[int, float, float]], y: AxisScale) -> str:
    """The intervals of what stands out as bands, where columns are too narrow for whiskers.

    Limits of single columns that cannot be distinguished from 0 would hide the shape, which is known better.
    """
    if readings.low is None or readings.high is None:
        return ""
    low, high, paths = readings.low, readings.high, []
    for below, group in groupby(columns, key=lambda column: bool(readings.below[column[0]])):
        run = [] if below else list(group)
        if run:
            upper = "L".join(f"{a:.1f},{y(min(high[i], y.high)):.1f}H{b:.1f}" for i, a, b in run)
            lower = "L".join(f"{b:.1f},{y(max(low[i], y.low)):.1f}H{a:.1f}" for i, a, b in reversed(run))
            paths.append(f"M{upper}L{lower}Z")
    return element("path", d="".join(paths), class_="reach") if paths else ""


def _upright_whisker(readings: Readings, i: int, y: AxisScale, x: float, half: float) -> str:
    if readings.low is None or readings.high is None:
        return ""
    a, b = y(max(readings.low[i], y.low)), y(min(readings.high[i], y.high))
    cap = min(4.0, max(half - 1, 0.0))
    roof = "" if readings.high[i] > y.high else f"M{x - cap:.1f},{b:.1f}h{2 * cap:.1f}"  # it goes on beyond the picture
    line = f"M{x:.1f},{b:.1f}V{a:.1f}M{x - cap:.1f},{a:.1f}h{2 * cap:.1f}{roof}"
    casing = element("path", d=line, class_="casing") if half >= 4 else ""
    return casing + element("path", d=line, class_="whisker")
