"""Coasts and borders within a box: from the bundled TopoJSON, or from a GeoJSON of one's own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from barrow.errors import ParameterError
from barrow.figures.projection import Box, Projection
from barrow.figures.svg import Floats

Outline = str | PathLike[str] | Mapping[str, Any]
"""A GeoJSON object, or the file that holds one."""

_STATES: Box = (24.0, -130.0, 50.0, -66.0)


@dataclass(frozen=True)
class Ground:
    """The paths of a map's ground: land to be filled, borders, lesser borders; whether the sea is known.

    >>> Ground("", "", "", sea=False).sea
    False
    """

    land: str
    border: str
    state: str
    sea: bool


@lru_cache(maxsize=16)
def bundled_ground(projection: Projection) -> Ground:
    """Natural Earth's land and borders, and the states of the USA where the box shows them.

    >>> bundled_ground(Projection((35.0, -10.0, 60.0, 30.0), 700, 500)).land.startswith("M")
    True
    """
    south, west, north, east = projection.box
    size = max(north - south, east - west)
    name = "countries-50m.json" if size < 70 else "countries-110m.json"
    land = "".join(_filled(ring, projection) for ring in _rings(name, "land"))
    border = "".join(_drawn(line, projection) for line in _shared(name, "countries"))
    near = west < _STATES[3] and east > _STATES[1] and south < _STATES[2] and north > _STATES[0] and size < 130
    state = "".join(_drawn(line, projection) for line in _shared("states-10m.json", "states")) if near else ""
    return Ground(land, border, state, sea=True)


def land_rings() -> list[Floats]:
    """The coasts of the world, coarsely: closed lines of (longitude, latitude) in degrees.

    >>> len(land_rings()) > 100
    True
    """
    return list(_rings("countries-110m.json", "land"))


def own_ground(outline: Outline, projection: Projection) -> Ground:
    """The ground that a GeoJSON draws: polygons as land, lines as borders. An outline may be empty.

    >>> line = {"type": "LineString", "coordinates": [[0, 40], [10, 50]]}
    >>> own_ground(line, Projection((35, -10, 60, 30), 700, 500)).sea
    False
    """
    polygons: list[Floats] = []
    lines: list[Floats] = []
    for kind, shape in _geometries(_read(outline)):
        (polygons if kind == "polygon" else lines).append(shape)
    land = "".join(_filled(_continuous(ring), projection) for ring in polygons)
    border = "".join(_drawn(line, projection) for line in lines)
    return Ground(land, border, "", sea=bool(land))


def _bad(problem: str) -> ParameterError:
    return ParameterError(
        f"The outline {problem}.",
        allowed="GeoJSON in degrees (longitude, latitude): a geometry, a feature or a collection",
        fix="outline='boroughs.geojson'",
    )


def _read(outline: Outline) -> Mapping[str, Any]:
    if isinstance(outline, Mapping):
        return outline
    try:
        found = json.loads(Path(outline).read_text(encoding="utf-8"))
    except OSError as error:
        raise _bad(f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise _bad("is not JSON") from None
    if not isinstance(found, dict):
        raise _bad("is not a JSON object")
    return found


def _geometries(node: Any, depth: int = 0) -> Iterator[tuple[str, Floats]]:
    if not isinstance(node, Mapping) or depth > 20:
        raise _bad("is not GeoJSON")
    kind = node.get("type")
    if kind in ("FeatureCollection", "GeometryCollection"):
        for child in node.get("features" if kind == "FeatureCollection" else "geometries") or []:
            yield from _geometries(child, depth + 1)
    elif kind == "Feature":
        if node.get("geometry") is not None:
            yield from _geometries(node["geometry"], depth + 1)
    elif kind in ("Polygon", "MultiPolygon"):
        coordinates = node.get("coordinates") or []
        for polygon in [coordinates] if kind == "Polygon" else coordinates:
            for ring in polygon:
                yield "polygon", _positions(ring)
    elif kind in ("LineString", "MultiLineString"):
        coordinates = node.get("coordinates") or []
        for line in [coordinates] if kind == "LineString" else coordinates:
            yield "line", _positions(line)
    elif kind not in ("Point", "MultiPoint"):
        raise _bad(f"has the type {str(kind)[:40]!r}")


def _positions(pairs: Any) -> Floats:
    try:
        found = np.array([(float(p[0]), float(p[1])) for p in pairs], dtype=np.float64).reshape(-1, 2)
    except (TypeError, ValueError, IndexError, KeyError):
        raise _bad("has a position that is not two numbers") from None
    if not np.isfinite(found).all() or (np.abs(found[:, 1]) > 90).any() or (np.abs(found[:, 0]) > 720).any():
        raise _bad("has a position that is no longitude and latitude")
    return found


@cache
def _topology(name: str) -> tuple[dict[str, Any], list[Floats]]:
    found = json.loads(files("barrow.figures").joinpath("outlines", name).read_text(encoding="utf-8"))
    scale, shift = np.array(found["transform"]["scale"]), np.array(found["transform"]["translate"])
    arcs = [np.cumsum(np.array(arc, dtype=np.float64), axis=0) * scale + shift for arc in found["arcs"]]
    return found, arcs


def _polygons(name: str, layer: str) -> Iterator[Sequence[int]]:
    for shape in _topology(name)[0]["objects"][layer]["geometries"]:
        for polygon in [shape["arcs"]] if shape["type"] == "Polygon" else shape.get("arcs", []):
            yield from polygon


def _rings(name: str, layer: str) -> Iterator[Floats]:
    arcs = _topology(name)[1]
    for ids in _polygons(name, layer):
        parts = [arcs[i] if i >= 0 else arcs[~i][::-1] for i in ids]
        yield _continuous(np.concatenate([parts[0], *[part[1:] for part in parts[1:]]]))


def _shared(name: str, layer: str) -> Iterator[Floats]:
    """Arcs that two shapes share: each border once, and no coast."""
    count: dict[int, int] = {}
    for ids in _polygons(name, layer):
        for i in ids:
            j = i if i >= 0 else ~i
            count[j] = count.get(j, 0) + 1
    arcs = _topology(name)[1]
    return (arcs[j] for j, times in count.items() if times > 1)


def _continuous(ring: Floats) -> Floats:
    """Longitudes without jumps; a ring round a pole is closed along it."""
    if len(ring) < 2:
        return ring
    step = ring[1:, 0] - ring[:-1, 0]
    if np.abs(step).max() <= 180:
        return ring
    lon = np.r_[ring[0, 0], ring[0, 0] + np.cumsum(step - 360 * np.round(step / 360))]
    lat = ring[:, 1]
    if abs(lon[-1] - lon[0]) > 180:
        pole = -90.0 if lat.mean() < 0 else 90.0
        return np.column_stack([np.r_[lon, lon[-1], lon[0]], np.r_[lat, pole, pole]])
    return np.column_stack([lon, lat])


def _copies(line: Floats, view: Box) -> Iterable[Floats]:
    """The line, moved by whole turns to where the view is."""
    if not len(line):
        return
    (west, south), (east, north) = line.min(axis=0).tolist(), line.max(axis=0).tolist()
    if north < view[0] or south > view[2]:
        return
    for turn in (-720.0, -360.0, 0.0, 360.0, 720.0):
        if east + turn >= view[1] and west + turn <= view[3]:
            yield line + np.array([turn, 0.0]) if turn else line


def _view(projection: Projection) -> Box:
    """The box with a margin: a curved frame shows a little more than the box's corners."""
    south, west, north, east = projection.box
    spare = 0.0 if projection.wide else 0.3 * max(north - south, 0.5 * (east - west))
    return max(-90.0, south - spare), west - spare, min(90.0, north + spare), east + spare


def _filled(ring: Floats, projection: Projection) -> str:
    view, found = _view(projection), []
    for copy in _copies(ring, view):
        cut = _clipped(copy, view)
        if len(cut) > 2:
            found.append(_path(_dense(np.vstack([cut, cut[:1]]), projection), projection, close=True))
    return "".join(found)


def _drawn(line: Floats, projection: Projection) -> str:
    view, found = _view(projection), []
    for copy in _copies(_continuous(line)[: len(line)], view):
        inside = (copy[:, 0] >= view[1]) & (copy[:, 0] <= view[3]) & (copy[:, 1] >= view[0]) & (copy[:, 1] <= view[2])
        # Runs of points inside, each with the neighbour outside that its first and last piece leads to.
        wanted = inside | np.r_[inside[1:], False] | np.r_[False, inside[:-1]]
        ends = np.flatnonzero(np.diff(np.r_[False, wanted, False].astype(np.int8)))
        for a, b in zip(ends[::2], ends[1::2], strict=True):
            if b - a > 1:
                found.append(_path(_dense(copy[a:b], projection), projection, close=False))
    return "".join(found)


def _clipped(ring: Floats, view: Box) -> Floats:
    """Sutherland-Hodgman against the view, one side after the other."""
    for axis, bound, sign in ((0, view[1], 1), (0, view[3], -1), (1, view[0], 1), (1, view[2], -1)):
        if not len(ring):
            return ring
        depth = sign * (ring[:, axis] - bound)
        inside = depth >= 0
        if inside.all():
            continue
        before, depth_before = np.roll(ring, 1, axis=0), np.roll(depth, 1)
        change = inside != (depth_before >= 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(change, depth_before / (depth_before - depth), 0.0)[:, None]
        crossing = before + part * (ring - before)
        # For each edge: where it crosses the side, then its end if that is inside.
        both = np.stack([crossing, ring], axis=1).reshape(-1, 2)
        ring = both[np.stack([change, inside], axis=1).ravel()]
    return ring


def _dense(line: Floats, projection: Projection) -> Floats:
    """Points in between where a straight step in degrees is a curve in the picture."""
    step = max((projection.box[3] - projection.box[1]) / 60, 0.05)
    count = np.maximum(1, np.ceil(np.abs(np.diff(line, axis=0)).max(axis=1) / step)).astype(np.int64)
    if (count == 1).all():
        return line
    start = np.repeat(line[:-1], count, axis=0)
    whole = np.repeat(np.diff(line, axis=0), count, axis=0)
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return np.vstack([start + whole * (within / np.repeat(count, count))[:, None], line[-1:]])


def _path(line: Floats, projection: Projection, *, close: bool) -> str:
    """The line in pixels; points nearer than about a pixel to the last one are left out, and so are specks."""
    x, y = projection.pixels(line[:, 1], line[:, 0])
    points = np.column_stack([x, y])
    kept, last = [points[0]], points[0]
    for point in points[1:-1]:
        if abs(point[0] - last[0]) + abs(point[1] - last[1]) >= 1.0:
            kept.append(point)
            last = point
    kept.append(points[-1])
    if len(kept) < (4 if close else 2):
        return ""
    return relative_path(np.array(kept), close=close)


def relative_path(points: Floats, *, close: bool) -> str:
    """A path of steps with one decimal: shorter than absolute numbers, and steps do not add up their rounding.

    >>> relative_path(np.array([[0.0, 0.0], [1.25, 0.0], [1.25, 2.0]]), close=True)
    'M0 0l1.2 0 0 2z'
    """
    tenths = np.round(points * 10).astype(np.int64)
    steps = np.diff(tenths, axis=0)
    steps = steps[(steps != 0).any(axis=1)]
    if not len(steps):
        return ""
    return f"M{_tenth(tenths[0, 0])} {_tenth(tenths[0, 1])}l{' '.join(_steps(steps))}{'z' if close else ''}"


def _steps(steps: np.ndarray) -> Iterator[str]:
    for dx, dy in steps.tolist():
        yield f"{_tenth(dx)} {_tenth(dy)}"


def _tenth(value: int) -> str:
    whole, rest = divmod(abs(int(value)), 10)
    sign = "-" if value < 0 else ""
    if not rest:
        return f"{sign}{whole}"
    return f"{sign}{whole or ''}.{rest}"
