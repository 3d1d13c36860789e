"""Coasts and borders within a box: from the bundled TopoJSON, or from a GeoJSON of one's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain, pairwise
from os import PathLike
from typing import Any

import msgspec
import numpy as np

from barrow.errors import ParameterError, plain_file
from barrow.render.figures.projection import Box, MapProjection, wide
from barrow.render.figures.svg import Floats

Outline = str | PathLike[str] | Mapping[str, Any]
"""A GeoJSON object, or the file that holds one."""

_STATES: Box = (24.0, -130.0, 50.0, -66.0)
_WORLD: Box = (-90.0, -180.0, 90.0, 180.0)
_CITY = 1.0
"""Below so many degrees bundled coasts, which are drawn for 1 : 50,000,000, would put parts of a city into the sea."""


@dataclass(frozen=True)
class Ground:
    """The paths of a map's ground: land to be filled, borders, lesser borders; whether the sea is known."""

    land: str
    border: str
    state: str
    sea: bool


@lru_cache(maxsize=16)
def bundled_ground(projection: MapProjection) -> Ground:
    """Natural Earth's land and borders, and the states of the USA where the box shows them; nothing in cities."""
    south, west, north, east = projection.box
    if max(north - south, east - west) < _CITY:
        return Ground("", "", "", sea=False)
    land, border, state = _bundled(projection.box)
    return Ground(
        _paths(land, projection, close=True),
        _paths(border, projection, close=False),
        _paths(state, projection, close=False),
        sea=True,
    )


@lru_cache(maxsize=16)
def _bundled(box: Box) -> tuple[list[Floats], list[Floats], list[Floats]]:
    """Land, borders and lesser borders within a box, in degrees: the same for every size of the picture."""
    south, west, north, east = box
    size = max(north - south, east - west)
    name = "countries-50m.json" if size < 70 else "countries-110m.json"
    near = west < _STATES[3] and east > _STATES[1] and south < _STATES[2] and north > _STATES[0] and size < 130
    view = _view(box)
    land = [piece for ring in _rings(name, "land", view) for piece in _filled(ring, box)]
    border = [piece for line in _shared(name, "countries", view) for piece in _visible_parts(line, box)]
    states = _shared("states-10m.json", "states", view) if near else ()
    return land, border, [piece for line in states for piece in _visible_parts(line, box)]


def land_rings() -> list[Floats]:
    """The coasts of the world, coarsely: closed lines of (longitude, latitude) in degrees."""
    return list(_rings("countries-110m.json", "land"))


def own_ground(outline: Outline, projection: MapProjection) -> Ground:
    """The ground that a GeoJSON draws: polygons as land, lines as borders. An outline may be empty."""
    polygons: list[Floats] = []
    lines: list[Floats] = []
    for kind, shape in _geometries(_read(outline)):
        (polygons if kind == "polygon" else lines).append(shape)
    filled = [piece for ring in polygons for piece in _filled(_continuous(ring), projection.box)]
    samples = [piece for line in lines for piece in _visible_parts(line, projection.box)]
    land = _paths(filled, projection, close=True)
    return Ground(
        land, _paths(samples, projection, close=False), "", sea=False
    )  # what lies outside districts is no water


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
        result = msgspec.json.decode(plain_file(outline, "The outline").read_bytes())
    except OSError as error:
        raise _bad(f"cannot be read: {error.strerror}") from None
    except ParameterError:
        raise
    except (ValueError, RecursionError):
        raise _bad("is not JSON") from None
    if not isinstance(result, dict):
        raise _bad("is not a JSON object")
    return result


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
        result = np.array([(float(p[0]), float(p[1])) for p in pairs], dtype=np.float64).reshape(-1, 2)
    except (TypeError, ValueError, LookupError, OverflowError):
        raise _bad("has a position that is not two numbers") from None
    if not np.isfinite(result).all() or (np.abs(result[:, 1]) > 90).any() or (np.abs(result[:, 0]) > 720).any():
        raise _bad("has a position that is no longitude and latitude")
    return result


@dataclass(frozen=True, eq=False)
class _Topology:
    """Arcs in degrees, each with its bounds (west, south, east, north), and the shapes that are made of them."""

    shapes: Mapping[str, Any]
    arcs: list[Floats]
    bounds: list[tuple[float, float, float, float]]

    def reaches(self, ids: Iterable[int], view: Box) -> bool:
        """Whether arcs may reach into a view; only where none can is the answer no."""
        west, south, east, north = zip(*(self.bounds[i if i >= 0 else ~i] for i in ids), strict=True)
        if max(north) < view[0] or min(south) > view[2]:
            return False
        low, high = min(west), max(east)
        turns = (-720.0, -360.0, 0.0, 360.0, 720.0)
        return high - low > 180 or any(high + turn >= view[1] and low + turn <= view[3] for turn in turns)


@cache
def _topology(name: str) -> _Topology:
    result = msgspec.json.decode(files("barrow.render.figures").joinpath("outlines", name).read_bytes())
    scale, shift = np.array(result["transform"]["scale"]), np.array(result["transform"]["translate"])
    steps = np.array(list(chain.from_iterable(result["arcs"])), dtype=np.int64)
    sizes = np.array([len(arc) for arc in result["arcs"]])
    starts = np.cumsum(sizes) - sizes
    # Each arc counts from its own first point: what came before it is taken off again.
    sums = np.cumsum(steps, axis=0)
    points = (sums - np.repeat(sums[starts] - steps[starts], sizes, axis=0)) * scale + shift
    ends = np.hstack([np.minimum.reduceat(points, starts), np.maximum.reduceat(points, starts)])
    bounds = [(west, south, east, north) for west, south, east, north in ends.tolist()]
    return _Topology(result["objects"], np.split(points, starts[1:]), bounds)


def _polygons(name: str, layer: str) -> Iterator[Sequence[int]]:
    for shape in _topology(name).shapes[layer]["geometries"]:
        for polygon in [shape["arcs"]] if shape["type"] == "Polygon" else shape.get("arcs", []):
            yield from polygon


def _rings(name: str, layer: str, view: Box = _WORLD) -> Iterator[Floats]:
    """The rings of a layer that may reach into a view."""
    result = _topology(name)
    for ids in _polygons(name, layer):
        if result.reaches(ids, view):
            parts = [result.arcs[i] if i >= 0 else result.arcs[~i][::-1] for i in ids]
            yield _continuous(np.concatenate([parts[0], *[part[1:] for part in parts[1:]]]))


def _shared(name: str, layer: str, view: Box) -> Iterator[Floats]:
    """Arcs that two shapes share, and that may reach into a view: each border once, and no coast."""
    result = _topology(name)
    count = Counter(i if i >= 0 else ~i for ids in _polygons(name, layer) for i in ids)
    return (result.arcs[j] for j, times in count.items() if times > 1 and result.reaches((j,), view))


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


def _view(box: Box) -> Box:
    """The box with a margin: a curved frame shows a little more than the box's corners."""
    south, west, north, east = box
    spare = 0.0 if wide(box) else 0.3 * max(north - south, 0.5 * (east - west))
    return max(-90.0, south - spare), west - spare, min(90.0, north + spare), east + spare


def _filled(ring: Floats, box: Box) -> Iterator[Floats]:
    """What a picture of the box shows of a ring: closed lines."""
    view = _view(box)
    for copy in _copies(ring, view):
        cut = _clipped(copy, view)
        if len(cut) > 2:
            yield _dense(np.vstack([cut, cut[:1]]), box)


def _visible_parts(line: Floats, box: Box) -> Iterator[Floats]:
    """What a picture of the box shows of a line."""
    view = _view(box)
    for copy in _copies(_continuous(line)[: len(line)], view):
        inside = (copy[:, 0] >= view[1]) & (copy[:, 0] <= view[3]) & (copy[:, 1] >= view[0]) & (copy[:, 1] <= view[2])
        if inside.all():
            yield _dense(copy, box)
            continue
        # Runs of points inside, each with the neighbour outside that its first and last piece leads to.
        wanted = inside | np.r_[inside[1:], False] | np.r_[False, inside[:-1]]
        ends = np.flatnonzero(np.diff(np.r_[False, wanted, False].astype(np.int8)))
        for a, b in zip(ends[::2], ends[1::2], strict=True):
            if b - a > 1:
                yield _dense(copy[a:b], box)


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


def _dense(line: Floats, box: Box) -> Floats:
    """Points in between where a straight step in degrees is a curve in the picture."""
    step = max((box[3] - box[1]) / 60, 0.05)
    whole = line[1:] - line[:-1]
    longest = np.abs(whole).max(axis=1)
    if not (longest > step).any():
        return line
    count = np.maximum(1, np.ceil(longest / step)).astype(np.int64)
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    start, whole = np.repeat(line[:-1], count, axis=0), np.repeat(whole, count, axis=0)
    return np.vstack([start + whole * (within / np.repeat(count, count))[:, None], line[-1:]])


def _paths(lines: Sequence[Floats], projection: MapProjection, *, close: bool) -> str:
    """Lines in pixels; points nearer than about a pixel to the last one are left out, and so are specks."""
    if not lines:
        return ""
    points = np.concatenate(lines)
    x, y = projection.pixels(points[:, 1], points[:, 0])
    across, down = np.round(x * 10).astype(np.int64).tolist(), np.round(y * 10).astype(np.int64).tolist()
    least, begin, results = (4 if close else 2), 0, []
    for line in lines:
        end = begin + len(line)
        corners = [(at := across[begin], to := down[begin])]
        for a, b in zip(across[begin + 1 : end - 1], down[begin + 1 : end - 1], strict=True):
            if abs(a - at) + abs(b - to) >= 10:
                corners.append((at := a, to := b))
        corners.append((across[end - 1], down[end - 1]))
        if len(corners) >= least:
            results.append(_in_steps(corners, close))
        begin = end
    return "".join(results)


def relative_path(points: Floats, *, close: bool) -> str:
    """A path of steps with one decimal: shorter than absolute numbers, and steps do not add up their rounding."""
    return _in_steps(np.round(points * 10).astype(np.int64).tolist(), close)


def _in_steps(tenths: Sequence[Sequence[int]], close: bool) -> str:
    """The path through points in tenths of a pixel."""
    steps = [(c - a, d - b) for (a, b), (c, d) in pairwise(tenths) if c != a or d != b]
    if not steps:
        return ""
    begin = f"M{_tenth(tenths[0][0])} {_tenth(tenths[0][1])}l"
    return f"{begin}{' '.join([f'{_tenth(a)} {_tenth(b)}' for a, b in steps])}{'z' if close else ''}"


@lru_cache(maxsize=20_000)
def _tenth(value: int) -> str:
    whole, rest = divmod(abs(value), 10)
    sign = "-" if value < 0 else ""
    if not rest:
        return f"{sign}{whole}"
    return f"{sign}{whole or ''}.{rest}"
