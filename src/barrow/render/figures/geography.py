"""What tells readers where a map is: names of places, large cities, degrees along its edges."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from barrow.numerics.places import Places
from barrow.numerics.search import median
from barrow.render.figures.cities import cities, place_names
from barrow.render.figures.projection import MapProjection
from barrow.render.figures.svg import AxisScale, element, text_width

_MOST_CITIES, _FEW_CITIES = 12, 2
_SMALL = 300.0
"""Narrower maps stand among others: texts would hide what they show."""
_KM = 111.195
"""Kilometres of a degree of latitude."""


Rectangle = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels."""


class PlaceNames:
    """What some of many places are called: as labelled, else by the nearest large city."""

    def __init__(self, places: Places, labels: Sequence[object] | None = None) -> None:
        self._places = places
        self._labels = labels

    def of(self, index: npt.NDArray[np.int64]) -> list[str]:
        """The names of the places with these numbers.

        >>> PlaceNames(Places.points([48.86, 41.9], [2.35, 12.5])).of(np.array([1]))
        ['Rome']
        """
        if self._labels is not None:
            return [str(self._labels[i]) for i in index.tolist()]
        lat, lon = self._places.lat[index], self._places.lon[index]
        return place_names(lat, lon, reach=cell_reach(self._places)) if len(index) else []


def cell_reach(places: Places) -> float:
    """How many kilometres a city may be away to name a place alone: it is within the cell, or nearly."""
    return 10.0 if places.corners is None else 0.6 * _KM * median(np.ptp(places.corners[:, :, 0], axis=1))


def landmarks(projection: MapProjection) -> str:
    """Degrees along the edges, and the largest cities, as many as touch nothing."""
    texts, taken = _ticks(projection) if projection.width >= _SMALL else ("", [])
    return texts + _cities(projection, taken)


def _cities(projection: MapProjection, taken: list[Rectangle]) -> str:
    count = len(taken)
    known = cities()
    south, west, north, east = projection.box
    lon = west + (known.lon - west) % 360.0
    spare = 0.02 * (north - south)
    inside = np.flatnonzero((known.lat > south + spare) & (known.lat < north - spare) & (lon < east))
    x, y = projection.pixels(known.lat[inside], lon[inside])
    edge, _ = projection.pixels(known.lat[inside], np.full(len(inside), east))
    parts = []
    for k, px, py, end in zip(inside.tolist(), x.tolist(), y.tolist(), edge.tolist(), strict=True):
        wide = text_width(known.names[k], 11.5)
        right = px + 7 + wide < min(projection.width, end + 6) - 6  # the frame may be narrower than the picture
        box = (px - 4 if right else px - 9 - wide, py - 8, px + 9 + wide if right else px + 4, py + 8)
        if box[0] < 4 or any(box[0] < t[2] and t[0] < box[2] and box[1] < t[3] and t[1] < box[3] for t in taken):
            continue
        taken.append(box)
        side = {"x": px + 7, "class_": "note halo"} if right else {"x": px - 7, "class_": "note halo end"}
        parts.append(element("circle", cx=px, cy=py, r=2.6, class_="city"))
        parts.append(element("text", text=known.names[k], y=py + 4, **side))
        if len(taken) - count >= (_MOST_CITIES if projection.width >= _SMALL else _FEW_CITIES):
            break
    return "".join(parts)


def _ticks(projection: MapProjection) -> tuple[str, list[Rectangle]]:
    """Short lines along the western and the southern edge, with their degrees, and where these stand."""
    south, west, north, east = projection.box
    up, across = (30.0, 60.0) if projection.wide else (_step(north - south), _step(east - west))
    parts, taken = [], []
    for tick in _inside(south, north, up):
        x, y = (float(p[0]) for p in projection.pixels(np.array([tick]), np.array([west])))
        parts.append(element("path", d=f"M{x:.1f},{y:.1f}h6", class_="graticule"))
        text = _degrees(tick, "NS")
        parts.append(element("text", text=text, x=x + 9, y=y + 4, class_="tick halo"))
        taken.append((x, y - 8, x + 12 + text_width(text, 11.5), y + 8))
    for tick in _inside(west, east, across):
        x, y = (float(p[0]) for p in projection.pixels(np.array([south]), np.array([tick])))
        parts.append(element("path", d=f"M{x:.1f},{y:.1f}v-6", class_="graticule"))
        text = _degrees((tick + 180.0) % 360.0 - 180.0, "EW")
        parts.append(element("text", text=text, x=x, y=y - 9, class_="tick mid halo"))
        half = text_width(text, 11.5) / 2
        taken.append((x - half - 2, y - 22, x + half + 2, y))
    return "".join(parts), taken


def _step(size: float) -> float:
    ticks = AxisScale(0.0, size, 0.0, 1.0, "°" if size > 20 else "").ticks(4)
    return ticks[1] - ticks[0] if len(ticks) > 1 else size


def _inside(low: float, high: float, step: float) -> list[float]:
    """Multiples of a step, none of them near a corner."""
    spare = 0.07 * (high - low)
    first, last = math.ceil((low + spare) / step), math.floor((high - spare) / step)
    return [k * step for k in range(first, last + 1)]


def _degrees(value: float, signs: str) -> str:
    text = f"{abs(value):.4f}".rstrip("0").rstrip(".")
    return f"{text}°{'' if text == '0' else signs[0] if value > 0 else signs[1]}"
