"""Flows between places: an arrow for each that stands out from the noise, and a ring where it stays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from barrow.errors import ParameterError
from barrow.numerics.exact import near
from barrow.numerics.places import Places
from barrow.numerics.search import distinct
from barrow.render.figures.figure import Figure, build_figure
from barrow.render.figures.geography import PlaceNames, landmarks
from barrow.render.figures.map import land_and_frame, scale_bar
from barrow.render.figures.outline import Outline, bundled_ground, own_ground
from barrow.render.figures.places import Ids, turned
from barrow.render.figures.projection import MapProjection, checked_box
from barrow.render.figures.readings import Beside, Numbers, Readings
from barrow.render.figures.svg import element, mark, number, text_width

MOST_FLOWS = 40
_WIDEST, _THINNEST = 9.0, 1.2
_BEND = 0.16
"""How far an arrow bends to its right, as a share of its length: there and back lie side by side."""


def flows_figure(
    starts: Places,
    ends: Places,
    values: Numbers,
    *,
    box: Sequence[float] | None = None,
    outline: Outline | None = None,
    title: str = "Flows",
    most: int = MOST_FLOWS,
    width: int = 720,
    most_height: int = 520,
    **beside: Unpack[Beside],
) -> Figure:
    """Arrows from places to places, the wider the larger; only the ``most`` largest that stand out from the noise.

    Args:
        starts: Where flows begin.
        ends: Where they end.
        values: One for each start and end, all ends of the first start first.
        box: South, west, north, east; by default what holds all places.
        outline: GeoJSON to draw instead of the bundled coasts and borders.
        title: What the figure is.
        most: How many flows are drawn.
        width: In pixels.
        most_height: The greatest height of the map in pixels.
        beside: Intervals, noise and unit, see :class:`Beside`; flows not above the noise are not drawn.

    >>> towns = Places.points([48.86, 52.52], [2.35, 13.4])
    >>> print(flows_figure(towns, towns, [0.4, 0.1, 0.2, 0.3], noise=0.15, title="Trips"))
    Trips. 3 of 4 flows stand out from the noise. The largest: within Paris: 40 %; within Berlin: 30 %; Berlin to Paris:
    20 %.
    """
    readings = Readings.of(values, **beside)
    if len(readings) != len(starts) * len(ends):
        raise ParameterError(
            f"There are {len(readings)} values for {len(starts)} starts and {len(ends)} ends.",
            allowed="one for each start and end",
            fix="values of a product of two spaces of places",
        )
    both = Places.points(np.append(starts.lat, ends.lat), np.append(starts.lon, ends.lon))
    projection = MapProjection(both.bounds() if box is None else checked_box(box), float(width), float(most_height))
    ground = bundled_ground(projection) if outline is None else own_ground(outline, projection)
    order = readings.largest(most)
    order = order[~readings.below[order] & (readings.value[order] > 0)]
    names = _names(order, starts, ends)
    height = projection.fit[3]
    key = _key(readings, order, height)
    under, over = land_and_frame(ground, projection)
    body = [
        under,
        over,
        *_arrows(order, readings, (turned(starts, projection), turned(ends, projection)), projection, names),
        landmarks(projection),
        scale_bar(projection, height),
        key,
    ]
    return build_figure(
        *body,
        title=title,
        description=_text(readings, order, names),
        width=width,
        height=height + 30,
        kind="map",
        reach=24,
    )


def _key(readings: Readings, order: Ids, height: float) -> str:
    """How wide a large flow is drawn, and one of a quarter of it."""
    if not len(order):
        return ""
    parts, x, largest = [], 8.0, float(readings.value[order[0]])
    for share in (1.0, 0.25):
        text = near(share * largest, readings.unit, digits=2)
        line = f"M{x:.1f},{height + 14:.1f}h26"
        parts.append(element("path", d=line, class_="flow sample", stroke_width=number(_WIDEST * share)))
        parts.append(element("text", text=text, x=x + 32, y=height + 18, class_="note"))
        x += 52 + text_width(text, 11.5)
    return "".join(parts)


def _names(order: Ids, starts: Places, ends: Places) -> list[str]:
    first, second = order // len(ends), order % len(ends)
    called = [_called(places, index) for places, index in ((starts, first), (ends, second))]
    return [
        f"within {called[0][i]}" if _same(starts, i, ends, j) else f"{called[0][i]} to {called[1][j]}"
        for i, j in zip(first.tolist(), second.tolist(), strict=True)
    ]


def _called(places: Places, index: Ids) -> dict[int, str]:
    """The name of each place, once."""
    known = distinct(index)
    return dict(zip(known.tolist(), PlaceNames(places).of(known), strict=True))


def _same(starts: Places, i: int, ends: Places, j: int) -> bool:
    return bool(starts.lat[i] == ends.lat[j] and starts.lon[i] == ends.lon[j])


def _arrows(
    order: Ids, readings: Readings, places: tuple[Places, Places], projection: MapProjection, names: Sequence[str]
) -> list[str]:
    """The smallest first, so that the largest lie above."""
    starts, ends = places
    (x0, y0), (x1, y1) = (projection.pixels(place.lat, place.lon) for place in places)
    largest = float(readings.value[order[0]]) if len(order) else 1.0
    results = []
    for i, name in zip(order.tolist()[::-1], list(names)[::-1], strict=True):
        a, b = divmod(i, len(ends))
        wide = max(_THINNEST, _WIDEST * float(readings.value[i]) / largest)
        tail, head = (float(x0[a]), float(y0[a])), (float(x1[b]), float(y1[b]))
        if _same(starts, a, ends, b):
            shape = element("circle", cx=tail[0], cy=tail[1], r=4 + wide / 2, class_="flow", stroke_width=number(wide))
            at = tail
        else:
            shape, at = _arrow(tail, head, wide)
        results.append(mark(shape, at=at, label=readings.describe(i, name)))
    return results


def _arrow(tail: tuple[float, float], head: tuple[float, float], wide: float) -> tuple[str, tuple[float, float]]:
    """A bent line with a head, and its middle."""
    dx, dy = head[0] - tail[0], head[1] - tail[1]
    length = math.hypot(dx, dy)
    bend = (tail[0] + dx / 2 - _BEND * dy, tail[1] + dy / 2 + _BEND * dx)
    # The head points along the end of the line, which stops where the head begins.
    ux, uy = head[0] - bend[0], head[1] - bend[1]
    along = math.hypot(ux, uy) or 1.0
    ux, uy = ux / along, uy / along
    tip = min(4.0 + 1.6 * wide, 0.6 * length)
    base = (head[0] - tip * ux, head[1] - tip * uy)
    side = 2.0 + 0.9 * wide
    line = f"M{tail[0]:.1f},{tail[1]:.1f}Q{bend[0]:.1f},{bend[1]:.1f} {base[0]:.1f},{base[1]:.1f}"
    point = (
        f"M{head[0]:.1f},{head[1]:.1f}L{base[0] - side * uy:.1f},{base[1] + side * ux:.1f}"
        f"L{base[0] + side * uy:.1f},{base[1] - side * ux:.1f}Z"
    )
    middle = ((tail[0] + 2 * bend[0] + base[0]) / 4, (tail[1] + 2 * bend[1] + base[1]) / 4)
    shapes = element("path", d=line, class_="flow", stroke_width=number(wide)) + element("path", d=point, class_="tip")
    return shapes, middle


def _text(readings: Readings, order: Ids, names: Sequence[str]) -> str:
    seen = int((~readings.below & (readings.value > 0)).sum())
    lines = [f"{seen:,} of {len(readings):,} flows stand out from the noise."]
    if len(order):
        best = [readings.describe(int(i), name) for i, name in zip(order[:3], names, strict=False)]
        lines.append(f"The largest: {'; '.join(best)}.")
    if len(order) < seen:
        lines.append(f"The {len(order):,} largest are drawn.")
    return " ".join(lines)
